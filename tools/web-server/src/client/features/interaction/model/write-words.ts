import type { PendingRequest } from '@callboard/contract';

/** What a `Write` does to its file, as far as that was known when it asked. */
export function writeText({ fileExists }: Pick<PendingRequest, 'fileExists'>): string {
  if (fileExists === undefined) return 'The whole file';
  return fileExists ? 'Replaces the file' : 'New file';
}
