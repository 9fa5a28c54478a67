import { DatabaseSync } from 'node:sqlite';
import { onTestFinished, vi } from 'vitest';

/** Lets a test make stores opened from now on in its process read-only, with SQLite's own refusals. */
export function watchDatabases(): { setReadOnly(isReadOnly: boolean): void } {
  const databases = new Set<DatabaseSync>();
  const { prepare } = DatabaseSync.prototype;
  const spy = vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (this: DatabaseSync, sql) {
    databases.add(this);
    return prepare.call(this, sql);
  });
  onTestFinished(() => spy.mockRestore());
  return {
    setReadOnly(isReadOnly) {
      for (const database of databases) if (database.isOpen) database.exec(`pragma query_only = ${isReadOnly ? 1 : 0}`);
    },
  };
}
