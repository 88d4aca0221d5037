"use strict";
// The order of two values of a column, numbers by size and texts by the alphabet; what is not known (null) comes last.
const ordering = {
  compare(one, other, way) { // way: 1 ascending, -1 descending
    if (one === null || other === null) return (one === null) - (other === null);
    if (typeof one === "number" && typeof other === "number") return way * (one - other);
    return way * String(one).localeCompare(String(other), undefined, { numeric: true });
  },
};
