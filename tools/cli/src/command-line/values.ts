import { accessSync, constants, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';

/** The folders for relative paths (`cwd`) and for `~` (`home`). */
export interface PathBase {
  readonly cwd: string;
  readonly home: string;
}

/** Returns the error of a schema: the value that was given, and what is wrong with it. */
export const complain = (reason: string) => ({
  error: (issue: { input: unknown }) => `${JSON.stringify(issue.input)} ${reason}`,
});

/** A TCP port; 0 for any free one. */
export const port = z
  .string()
  .refine(
    (text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535,
    complain('is not a port (0 to 65535; 0 takes any free one)'),
  )
  .transform(Number);

/** A number of things, at least one. */
export const count = z
  .string()
  .refine((text) => /^\d{1,6}$/.test(text) && Number(text) > 0, complain('is not a whole number above 0'))
  .transform(Number);

/** A number of things; 0 for none. */
export const countOrNone = z
  .string()
  .refine((text) => /^\d{1,6}$/.test(text), complain('is not a whole number'))
  .transform(Number);

/** The name of an account of this machine. */
export const userName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]*\$?$/, complain('is not a user name'));

/** A SHA-256 in hex, in lower case. */
export const sha256 = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, { error: 'is not a SHA-256 in hex (64 digits)' })
  .transform((text) => text.toLowerCase());

/** An absolute path. */
export const path = ({ cwd, home }: PathBase) =>
  z
    .string()
    .refine((text) => !/^~[^/]/.test(text), complain('names the home of another user; write the path in full'))
    .transform((text) => resolve(cwd, text === '~' || text.startsWith('~/') ? join(home, text.slice(1)) : text));

/** The absolute path of an existing folder. */
export const folder = (base: PathBase) => path(base).refine(isFolder, complain('is not a readable folder'));

/** The absolute path of a program. */
export const program = (base: PathBase) => path(base).refine(isProgram, complain('is not an executable program'));

function isFolder(name: string): boolean {
  try {
    return statSync(name).isDirectory();
  } catch {
    return false;
  }
}

function isProgram(name: string): boolean {
  try {
    accessSync(name, constants.X_OK);
    return statSync(name).isFile();
  } catch {
    return false;
  }
}
