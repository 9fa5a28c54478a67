import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

/** The axe script, to load into pages from the start: `context.addInitScript(axe)`. */
export const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
/** What can differ between the light and the dark scheme of one page: nothing but its colours does. */
const ABOUT_COLOURS = ['color-contrast', 'link-in-text-block'];

interface AxeResults {
  violations: { id: string; nodes: { target: unknown[]; failureSummary: string }[] }[];
}

/**
 * Returns the findings of axe on a page that has the script, as lines; of all rules, or those about colours.
 * @param within a CSS selector: only what is in such an element is looked at
 */
export async function findings(
  page: Page,
  where: string,
  which: 'all' | 'colours' = 'all',
  within = 'html',
): Promise<string[]> {
  const only = which === 'all' ? { type: 'tag', values: TAGS } : { type: 'rule', values: ABOUT_COLOURS };
  const { violations } = (await page.evaluate(
    async ([runOnly, context]) => {
      const { axe } = window as unknown as { axe: { run(context: string, options: object): Promise<AxeResults> } };
      // Of the rules of these tags none reads style sheets, which axe would otherwise load again for each run.
      return axe.run(context, { runOnly, resultTypes: ['violations'], preload: false });
    },
    [only, within] as const,
  )) as AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${where}: ${id}: ${node.target.join(' ')}: ${node.failureSummary}`),
  );
}
