/** Returns a record's own value for a name from outside. Every object inherits some names (`constructor`): these do not count. */
export function ownProperty<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
