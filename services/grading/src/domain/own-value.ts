/**
 * What a record itself holds under a name that a stranger chose: `constructor` is in every object's prototype, and is no
 * price, result or alias.
 */
export const ownValue = <Value>(
  record: Readonly<Record<string, Value>> | undefined,
  name: string,
): Value | undefined =>
  record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
