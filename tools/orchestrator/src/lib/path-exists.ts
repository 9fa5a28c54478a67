import { access } from 'node:fs/promises';

/** Whether something exists at this path, following symbolic links. Also false if the path cannot be read. Never rejects. */
export const pathExists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
