"""What a page is to people who use no mouse or see less, measured in a real browser."""

from typing import Any

from playwright.sync_api import Page

# Drawn to its end: no run goes on, nothing is a placeholder, every chart has its picture.
DRAWN = """() => document.querySelector('.stApp')?.dataset.testScriptState === 'notRunning'
  && document.querySelector('[data-testid=stMetricValue]')
  && !document.querySelector('[data-testid=stSkeleton]')
  && [...document.querySelectorAll('.stVegaLiteChart')].every(e => e.querySelector('svg text'))"""

# Colours as [red, green, blue, opacity], and how far one stands out from another.
COLOURS = """
  const rgba = text => { const n = text.match(/[\\d.]+/g)?.map(Number);
    return n && [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = c => { const f = c.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05); };
  const hex = text => rgba(text.replace(/^#(..)(..)(..)$/,
    (_, ...parts) => parts.slice(0, 3).map(part => parseInt(part, 16)).join()));
"""

# Texts with too little contrast (WCAG 2: relative luminance, 4.5 to 1, icons 3 to 1), each with
# what it stands on: the grounds of the elements around it, for a chart the marks beneath its
# middle, or its halo. Read once nothing fades in or out.
PALE = (
    "async () => {"
    + COLOURS
    + """
  await Promise.allSettled(document.getAnimations().map(each => each.finished));
  const upwards = e => e ? [e, ...upwards(e.parentElement)] : [];
  const opacity = e => upwards(e).reduce((o, p) => o * getComputedStyle(p).opacity, 1);
  // Words for a screen reader alone lie in a box of one pixel.
  const isUnseen = e => upwards(e).some(p => p.clientWidth <= 1 && p.clientHeight <= 1
    && getComputedStyle(p).position === 'absolute');
  const middle = b => [b.left + b.width / 2, b.top + b.height / 2];
  const holds = (e, [x, y]) => { const b = e.getBoundingClientRect();
    return b.left <= x && x <= b.right && b.top <= y && y <= b.bottom; };
  const ground = (e, at) => upwards(e).filter(p => holds(p, at))
    .map(p => rgba(getComputedStyle(p).backgroundColor)).reverse()
    .reduce((g, c) => over(c, g), [255, 255, 255, 1]);
  const found = [];
  const judge = (text, ink, ground, least = 4.5) => { const c = contrast(over(ink, ground), ground);
    if (c < least) found.push(text.trim().slice(0, 40) + ': ' + c.toFixed(2)); };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let told = 0;
  while (texts.nextNode()) {
    const text = texts.currentNode, e = text.parentElement, range = document.createRange();
    // What cannot be used now may be pale.
    if (!text.data.trim() || e.closest('script, style, noscript, svg, :disabled')) continue;
    if (!e.checkVisibility({visibilityProperty: true})) continue;
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect(), style = getComputedStyle(e);
    if (box.width < 2 || !opacity(e) || isUnseen(e)) continue;
    const ink = rgba(style.color);
    ink[3] *= opacity(e);
    // An icon is a picture, written as a word of its own font.
    judge(text.data, ink, ground(e, middle(box)), /Material/.test(style.fontFamily) ? 3 : 4.5);
    told++;
  }
  for (const e of document.querySelectorAll('[placeholder]:placeholder-shown:not(:disabled)')) {
    const style = getComputedStyle(e, '::placeholder'), ink = rgba(style.color);
    if (!e.placeholder || !e.checkVisibility({visibilityProperty: true})) continue;
    ink[3] *= style.opacity * opacity(e);
    judge(e.placeholder, ink, ground(e, middle(e.getBoundingClientRect())));
    told++;
  }
  const every = document.createElement('style');
  every.textContent = '* { pointer-events: auto !important }';
  document.head.append(every);
  const isHalo = t => getComputedStyle(t).stroke !== 'none'
    && parseFloat(getComputedStyle(t).strokeWidth) >= 3;
  for (const svg of document.querySelectorAll('.stVegaLiteChart svg')) {
    const all = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim());
    for (const t of all.filter(t => !isHalo(t) && opacity(t))) {
      const style = getComputedStyle(t), at = middle(t.getBoundingClientRect());
      let beneath = ground(svg.closest('.stVegaLiteChart'), at);
      for (const e of document.elementsFromPoint(...at).reverse()) {
        const fill = rgba(getComputedStyle(e).fill);
        if (!svg.contains(e) || /^(svg|g|text|tspan)$/.test(e.tagName) || !fill) continue;
        fill[3] *= opacity(e) * getComputedStyle(e).fillOpacity;
        beneath = over(fill, beneath);
      }
      const halo = all.find(h => isHalo(h) && h.textContent === t.textContent
        && Math.abs(middle(h.getBoundingClientRect())[1] - at[1]) < 2);
      if (halo) beneath = rgba(getComputedStyle(halo).stroke);
      const ink = rgba(style.fill);
      ink[3] *= opacity(t) * style.fillOpacity;
      judge(t.textContent, ink, beneath);
      told++;
    }
  }
  every.remove();
  // Tables are painted: what they are painted with.
  for (const table of document.querySelectorAll('[data-testid=stDataFrame] canvas')) {
    const style = getComputedStyle(table);
    const shade = name => hex(style.getPropertyValue('--gdg-' + name));
    for (const [ink, paper] of [['text-dark', 'bg-cell'], ['text-medium', 'bg-cell'],
        ['text-light', 'bg-cell'], ['text-header', 'bg-header']])
      judge('table ' + ink, shade(ink), over(shade(paper), [255, 255, 255, 1]));
  }
  return [told, found];
}"""
)

# Before a page is opened: keep what its tables paint, and with which ink.
PAINTED = """
  window.painted = [];
  var fillText = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    painted.push([text, this.fillStyle]);
    return fillText.call(this, text, ...place);
  };
"""

# How far the cells without a value stand out from the ground of their table.
UNKNOWN_CELLS = (
    "() => {"
    + COLOURS
    + """
  const table = document.querySelector('[data-testid=stDataFrame] canvas');
  const paper = table && hex(getComputedStyle(table).getPropertyValue('--gdg-bg-cell'));
  return painted.filter(([text]) => text === 'unknown' || text === 'not set')
    .map(([_, ink]) => contrast(over(hex(ink), paper), paper));
}"""
)

# What can be operated, and how it looks while it is not focused.
LOOKS = """() => {
  const look = e => ['', '::before', '::after'].map(part => { const s = getComputedStyle(e, part);
    return [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.borderColor,
      s.backgroundColor, s.color, s.opacity].join(); }).join();
  const upwards = (e, n) => e && n ? [e, ...upwards(e.parentElement, n - 1)] : [];
  window.lookOf = e => upwards(e, 5).map(look).join('|');
  window.nameOf = e => [e.tagName, e.getAttribute('role') || '', e.getAttribute('aria-label')
    || e.innerText?.trim().slice(0, 60) || e.dataset.testid || ''].join(' ');
  const canBe = e => e.tabIndex >= 0 && !e.disabled && e.getClientRects().length
    && e.checkVisibility({visibilityProperty: true});
  // Of a group of choices Tab reaches one, arrows the others; so with the cells of a table.
  window.unitOf = e => e.closest('[role=radiogroup]') || e.closest('canvas') || e;
  const kinds = 'a[href], button, input, select, textarea, summary, [tabindex]';
  window.controls = [...new Set([...document.querySelectorAll(kinds)].filter(canBe).map(unitOf))];
  document.activeElement.blur();
  window.looks = new Map([...document.querySelectorAll('*')].filter(e => e.tabIndex >= 0)
    .map(e => [e, lookOf(e)]));
  return controls.length;
}"""

FOCUSED = """() => {
  const e = document.activeElement, at = controls.indexOf(unitOf(e));
  let opacity = 1;
  for (let p = e; p; p = p.parentElement) opacity *= getComputedStyle(p).opacity;
  return [at, nameOf(e), lookOf(e) !== looks.get(e) && opacity > 0.5, unitOf(e).tagName];
}"""


def open_all(page: Page) -> None:
    """Open whatever can be opened in place, and the forms of the settings."""
    for number, group in enumerate(page.get_by_role("radiogroup", name="Change").all()):
        group.get_by_role("radio").last.click()
        page.get_by_test_id("stForm").nth(number).wait_for(timeout=60_000)
    page.evaluate(
        "document.querySelectorAll('details:not([open]) > summary').forEach(e => e.click())"
    )
    page.wait_for_function(DRAWN, timeout=60_000)


def walked_by_tab(page: Page) -> tuple[list[str], list[str]]:
    """The controls that Tab does not reach, and those that it reaches unseen."""
    count = page.evaluate(LOOKS)
    reached: set[int] = set()
    unseen: list[str] = []
    idle = 0
    # What is drawn anew under the focus sends it back to what was reached before. So only a whole
    # round without anything new is the end.
    while len(reached) < count and idle < count + 10:
        page.keyboard.press("Tab")
        at, name, is_seen, tag = page.evaluate(FOCUSED)
        idle += 1
        if tag == "BODY" or at in reached:
            continue
        if at >= 0:
            reached.add(at)
            idle = 0
        # Tables draw their cells, and which of them is chosen, themselves.
        if not is_seen and tag not in ("CANVAS", "MAIN") and not _appears(page):
            unseen.append(name)
    # A table may have been drawn anew meanwhile.
    every: list[Any] = page.evaluate("controls.map(e => e.isConnected && nameOf(e))")
    return [name for at, name in enumerate(every) if name and at not in reached], unseen


def _appears(page: Page) -> bool:
    """Whether the focus is seen once its fading is over."""
    page.wait_for_timeout(400)
    return bool(page.evaluate(FOCUSED)[2])
