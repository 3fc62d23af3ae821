"""The estimate as text: the answer in a sentence, then the figures behind it."""

from fractions import Fraction
from typing import TYPE_CHECKING

from analytics.breakeven import BreakEven, as_json
from analytics.estimate import Assumptions, Estimate
from analytics.render.break_even import rows

if TYPE_CHECKING:
    from analytics.quote import Quote

LABEL_WIDTH = 26


def as_text(
    given: Assumptions,
    result: Estimate,
    api_output_price: Fraction | None,
    quoted: "Quote | None" = None,
) -> str:
    """Several lines; amounts in the currency of the assumptions, shown to four decimals."""
    lines = [_answer(result, api_output_price), *([] if quoted is None else [_quote(quoted)]), ""]
    lines += [_row(label, value) for label, value in _figures(given, result)]
    if result.break_even is not None and api_output_price is not None:
        lines += ["", *_against(result.break_even, api_output_price)]
    return "\n".join(lines)


def _answer(result: Estimate, api_output_price: Fraction | None) -> str:
    cost = result.cost_per_mtok_output
    if cost is None:
        return f"A million output tokens have no price: {result.reason}."
    answer = f"A million output tokens cost {_amount(cost)}"
    if api_output_price:
        times = f"{float(cost / api_output_price):,.2f} times"
        answer += f", {times} the API's {_amount(api_output_price)}"
    return f"{answer}."


def _quote(quoted: "Quote") -> str:
    """Whose price that is, at which instant, and what it is at other times."""
    told = f"{_amount(quoted.price)} at {quoted.at:%Y-%m-%d %H:%M %Z}"
    others = "".join(f"; {what} {_amount(price)}" for what, price in quoted.others.items())
    return f"{quoted.sheet}, output: {told}{others}."


def _figures(given: Assumptions, result: Estimate) -> list[tuple[str, str]]:
    whole = result.fixed_per_month + result.energy_per_month
    return [
        ("fixed per month", _amount(result.fixed_per_month)),
        ("electricity per month", _amount(result.energy_per_month)),
        ("all per month", _amount(whole)),
        ("output tokens per month", f"{round(result.tokens_per_month):,}"),
        ("hours per day", f"{float(given.hours_per_day):,.2f}"),
    ]


def _against(meet: BreakEven, api_output_price: Fraction) -> list[str]:
    price = _amount(api_output_price)
    return [
        f"Break-even against {price} (output-only; an API bills the input too):",
        *(_row(label, value) for label, value in rows(as_json(meet))),
    ]


def _row(label: str, value: str) -> str:
    return f"  {label:<{LABEL_WIDTH}}{value:>16}"


def _amount(value: Fraction) -> str:
    return f"{round(value * 10_000) / 10_000:,.4f}"
