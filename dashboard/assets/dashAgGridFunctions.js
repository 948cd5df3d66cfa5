"use strict";
window.dashAgGridFunctions = Object.assign(window.dashAgGridFunctions || {}, {
  mnistproVerdict: (value) => (value === true ? "✓ right" : value === false ? "✗ wrong" : "–"),
  mnistproAnswer: (value, right) => `${value == null ? "none" : value} ${right === true ? "✓" : right === false ? "✗" : ""}`,
  mnistproInterval: (row, name) => {
    if (!row || row[name] == null) return "–";
    const share = (value) => (100 * value).toFixed(1);
    return row[`${name}_low`] == null ? share(row[name]) : `${share(row[name])} [${share(row[`${name}_low`])}, ${share(row[`${name}_high`])}]`;
  },
});
