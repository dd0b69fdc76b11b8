/** Radio buttons, side by side. */

import { h, hidden } from "./element.ts";

interface RadioButton<Value extends string> {
  readonly value: Value;
  readonly label: string;
}

export function choicesOf<Value extends string>(
  name: string,
  legend: string,
  choices: readonly RadioButton<Value>[],
  chosen: Value,
  choose: (value: Value) => void,
): HTMLElement {
  return h(
    "fieldset.choices",
    h("legend", hidden(legend)),
    ...choices.flatMap(({ value, label }) => [
      h("input", {
        type: "radio",
        name,
        id: `${name}-${value}`,
        value,
        checked: value === chosen,
        onchange: () => choose(value),
      }),
      h("label", { for: `${name}-${value}` }, label),
    ]),
  );
}
