import { parse } from 'yaml';
import { z } from 'zod';
import { type Script, Scripts } from './script.ts';

/** Reads scripts by name from YAML text. @throws Error that names what is invalid */
export function parseScripts(yamlText: string): Record<string, Script> {
  const parsed = Scripts.safeParse(parse(yamlText) ?? {});
  if (!parsed.success) throw new Error(`bad scripts:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
