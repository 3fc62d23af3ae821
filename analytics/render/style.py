"""The style of the report as a page: on a screen by day and by night, narrow, and on paper."""

from analytics.render.colours import DARK, LIGHT, Palette

STEPS = (
    *("at_peak", "below_peak", "stranded", "headroom", "idle", "off", "other"),
    *("unassigned", "busy"),
)
# Pale on the page, so that an edge shows where they end.
PALE = ("headroom", "idle", "off", "unassigned")

RULES = """
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);line-height:1.45;
 font-family:"Source Sans 3","Source Sans Pro",system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
 font-variant-numeric:tabular-nums}
main{max-width:72rem;margin:0 auto;padding:2rem 1.25rem 3rem}
p{margin:.25rem 0}
h1{font-size:1rem;font-weight:600;margin:0;overflow-wrap:anywhere}
.quiet{color:var(--quiet)}
.tiles{display:flex;flex-wrap:wrap;gap:.75rem 3rem;margin:1.25rem 0 .75rem}
.tiles p{margin:0;color:var(--quiet);flex:0 1 17rem;overflow-wrap:anywhere}
.tiles data{display:block;font-size:2.5rem;line-height:1.1;font-weight:600;color:var(--text)}
.lead,.tables{columns:27rem 2;column-gap:3rem;margin-top:1.5rem}
section{break-inside:avoid;padding-bottom:1.75rem}
.tables{border-top:1px solid var(--line);padding-top:1.5rem}
table{border-collapse:collapse;width:100%;margin:0 0 .5rem}
table+table{margin-top:1.25rem}
caption,h2{text-align:left;font-size:1rem;font-weight:600;margin:0;padding:0 0 .4rem;
 line-height:1.3}
th,td{padding:.16rem 0;vertical-align:top;border-top:1px solid var(--line)}
th{text-align:left;font-weight:400;min-width:6.2rem;overflow-wrap:anywhere}
td{text-align:right;padding-left:.75rem;white-space:nowrap}
td.words{white-space:normal}
td.chart{width:45%;padding-top:.3rem}
td span{display:inline-block}
small{display:block;color:var(--quiet)}
tr.sum th,tr.sum td{font-weight:600}
tr.group th{font-weight:600;padding-top:.6rem}
ul{margin:0;padding-left:1.1rem}
li{margin:.15rem 0;overflow-wrap:anywhere}
svg.bar{display:block;overflow:visible}
svg.defs{position:absolute}
rect{stroke-width:1}
.axis{stroke:var(--quiet)}
.ground{fill:var(--hatch-ground)}.stroke{fill:var(--hatch)}
.unknown{fill:url(#hatch);stroke:var(--hatch)}
.own{fill:var(--own);stroke:var(--own)}
.less{fill:none;stroke:var(--own)}
.api{fill:var(--api);stroke:var(--api)}
.api-too{fill:none;stroke:var(--api)}
.sum-bar{fill:var(--quiet);stroke:var(--quiet)}
@media (max-width:34rem){
 main{padding:1.25rem 1rem 2rem}
 .tiles{flex-direction:column}
 .tiles p{flex-basis:auto}
 table{font-size:.92rem}
 td.chart{width:34%}
 td{padding-left:.5rem}
 th{min-width:3.2rem}
 .lead th,.bars th{min-width:6.2rem}
}
@page{size:A4;margin:12mm}
@media print{
 html{font-size:8.6pt}
 main{max-width:none;padding:0}
 .tiles{gap:.5rem 1.5rem;flex-wrap:nowrap}
 .tables{break-before:page;border-top:0}
 table,li{break-inside:avoid}
 *{print-color-adjust:exact;-webkit-print-color-adjust:exact}
}
"""


def style() -> str:
    """The style sheet; paper is always light."""
    night = f"@media screen and (prefers-color-scheme:dark){{:root{{{_named(DARK)}}}}}"
    looks = "".join(
        f".{step}{{fill:var(--{step});stroke:var(--{'hatch' if step in PALE else step})}}"
        for step in STEPS
    )
    return f":root{{{_named(LIGHT)}}}{night}{looks}{RULES}"


def _named(colours: Palette) -> str:
    plain = {
        "page": colours.page,
        "text": colours.text,
        "quiet": colours.quiet,
        "line": colours.line,
        "own": colours.own,
        "api": colours.api,
        "hatch": colours.hatch,
        "hatch-ground": colours.hatch_ground,
    }
    plain |= {step: colours.step(step) for step in STEPS}
    return ";".join(f"--{name}:{colour}" for name, colour in plain.items())
