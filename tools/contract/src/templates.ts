/**
 * Templates of a phase's prompt: text with names in double braces. `\{{` stands for the braces themselves, and `\\{{` for a
 * backslash before a name. A value is never read as a template again.
 */

export const TEMPLATE_NAMES = ['stage.title', 'stage.prompt', 'previous.result', 'check.output'] as const;
export type TemplateName = (typeof TEMPLATE_NAMES)[number];
export type TemplateValues = Readonly<Record<TemplateName, string>>;

type TemplatePart = { text: string } | { name: TemplateName };

const isName = (name: string): name is TemplateName => TEMPLATE_NAMES.some((known) => known === name);

/** Opening braces with the backslashes before them. */
const OPENING = /(\\*)\{\{/g;
const MAX_SHOWN_LENGTH = 40;
const KNOWN = TEMPLATE_NAMES.map((name) => `{{${name}}}`).join(', ');
const AS_TEXT = String.raw`write \{{ if you mean the braces themselves`;

/** Returns the parts of a template, or what is wrong with it, as the end of a sentence that begins with its field. */
export function parseTemplate(template: string): { parts: TemplatePart[] } | { problem: string } {
  const parts: TemplatePart[] = [];
  let at = 0;
  OPENING.lastIndex = 0;
  for (let found = OPENING.exec(template); found !== null; found = OPENING.exec(template)) {
    const backslashes = found[1]?.length ?? 0;
    const before = template.slice(at, found.index) + '\\'.repeat(Math.floor(backslashes / 2));
    at = OPENING.lastIndex;
    if (backslashes % 2 === 1) {
      parts.push({ text: `${before}{{` });
      continue;
    }
    if (before !== '') parts.push({ text: before });
    const end = template.indexOf('}}', at);
    const line = template.slice(0, found.index).split('\n').length;
    if (end === -1) return { problem: `has {{ without }} in line ${line}; ${AS_TEXT}` };
    const name = template.slice(at, end).trim();
    if (!isName(name)) {
      const shown = name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}...` : name;
      return { problem: `has {{${shown}}} in line ${line}, which is no name: there are ${KNOWN}; ${AS_TEXT}` };
    }
    parts.push({ name });
    at = end + 2;
    OPENING.lastIndex = at;
  }
  if (at < template.length) parts.push({ text: template.slice(at) });
  return { parts };
}

/** Returns the text of a template with these values. A text that is no template stays as it is. */
export function renderTemplate(template: string, values: TemplateValues): string {
  const parsed = parseTemplate(template);
  if ('problem' in parsed) return template;
  return parsed.parts.map((part) => ('name' in part ? values[part.name] : part.text)).join('');
}

/** Whether a template uses this name. */
export function usesName(template: string, name: TemplateName): boolean {
  const parsed = parseTemplate(template);
  return 'parts' in parsed && parsed.parts.some((part) => 'name' in part && part.name === name);
}

/** Returns a template that stands for this very text. */
export const escapeTemplate = (text: string): string =>
  text.replace(OPENING, (_, backslashes: string) => String.raw`${backslashes}${backslashes}\{{`);
