// Conditions of rules on the values of a row, as Python checks them.

import { isMissing } from "./inputs.js";

/** Return what checks rules; `known` gives the position of a category, or -1. */
export function createConditions(features, known) {
  function holds(condition, value) {
    if (features[condition.feature].kind === "number") {
      if (isMissing(value)) return condition.missing;
      const { low, high } = condition;
      return (low === null || value >= low) && (high === null || value <= high);
    }
    const { other } = features[condition.feature];
    const position = known(condition.feature, value);
    return condition.allowed.includes(position < 0 && other !== null ? other : position);
  }

  /** Return a rule with its conditions, each kept or broken by the row, and whether all are kept. */
  return function check(rule, row) {
    const conditions = rule.conditions.map((condition) => ({ ...condition, holds: holds(condition, row[condition.feature]) }));
    return { ...rule, conditions, covers: conditions.every((condition) => condition.holds) };
  };
}
