/** A record's own value for a name from outside, which may be one that every object has, such as `constructor`. */
export function ownProperty<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
