import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  escapeTemplate,
  parseTemplate,
  renderTemplate,
  TEMPLATE_NAMES,
  type TemplateValues,
  usesName,
} from './checks.ts';

const VALUES: TemplateValues = {
  'stage.title': 'Login',
  'stage.prompt': 'Build the login form',
  'previous.result': 'A plan',
  'check.output': '1 test failed',
};
const render = (template: string) => renderTemplate(template, VALUES);

it.each([
  ['nothing', 'nothing'],
  ['{{stage.title}}', 'Login'],
  ['{{ stage.title }}: {{previous.result}}.', 'Login: A plan.'],
  ['{{stage.title}}{{stage.title}}', 'LoginLogin'],
  [String.raw`\{{stage.title}}`, '{{stage.title}}'],
  [String.raw`\\{{stage.title}}`, String.raw`\Login`],
  [String.raw`\\\{{x`, String.raw`\{{x`],
  ['a } b }} c { d', 'a } b }} c { d'],
  ['{{{stage.title}}', '{{{stage.title}}'],
  ['{{stage.title}}}', 'Login}'],
  ['', ''],
])('reads %j as %j', (template, text) => {
  expect(render(template)).toBe(text);
});

it.each([
  ['{{stage.titel}}', 'has {{stage.titel}} in line 1, which is no name: there are {{stage.title}}'],
  ['One\n{{', 'has {{ without }} in line 2'],
  ['{{}}', 'has {{}} in line 1'],
  ['{{{stage.title}}', 'has {{{stage.title}} in line 1'],
  ['{{#each x}}', 'write \\{{ if you mean the braces themselves'],
  ['{{constructor}}', 'has {{constructor}}'],
])('says what is wrong with %j', (template, problem) => {
  expect(parseTemplate(template)).toEqual({ problem: expect.stringContaining(problem) });
});

it('says whether a name is used', () => {
  expect(usesName('a {{stage.prompt}}', 'stage.prompt')).toBe(true);
  expect(usesName(String.raw`a \{{stage.prompt}}`, 'stage.prompt')).toBe(false);
});

/** Text with many braces, backslashes and names. */
const hostile = fc
  .array(fc.constantFrom('{', '}', '{{', '}}', '\\', 'stage.title', '{{check.output}}', ' ', '\n', 'x', '$&', '$1'), {
    maxLength: 24,
  })
  .map((parts) => parts.join(''));

it('writes any text as a template that stands for it', () => {
  fc.assert(
    fc.property(hostile, (text) => render(escapeTemplate(text)) === text),
    { numRuns: 2_000 },
  );
});

it('never expands a value', () => {
  fc.assert(
    fc.property(hostile, hostile, fc.constantFrom(...TEMPLATE_NAMES), (before, value, name) => {
      const template = `${escapeTemplate(before)}`;
      // A backslash right before the braces would escape them.
      fc.pre(!before.endsWith('\\') && !before.endsWith('{'));
      const rendered = renderTemplate(`${template}{{${name}}}`, { ...VALUES, [name]: value });
      expect(rendered).toBe(before + value);
    }),
    { numRuns: 2_000 },
  );
});

it('reads any text without an error, and keeps a text that is no template', () => {
  fc.assert(
    fc.property(fc.oneof(hostile, fc.string({ maxLength: 200 })), (text) => {
      const parsed = parseTemplate(text);
      if ('problem' in parsed) expect(render(text)).toBe(text);
      else
        expect(render(text)).toBe(
          parsed.parts.map((part) => ('name' in part ? VALUES[part.name] : part.text)).join(''),
        );
    }),
    { numRuns: 2_000 },
  );
});
