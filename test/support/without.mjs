/** Returns a copy of an object without some of its members. @param {object} object @param {...string} names */
export const without = (object, ...names) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
