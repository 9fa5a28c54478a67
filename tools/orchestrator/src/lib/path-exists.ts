import { access } from 'node:fs/promises';

/** Whether something is at this path; follows symbolic links. False as well if the path may not be read. */
export const pathExists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
