import type { Stage } from '@callboard/contract';

const MAX_TITLE_LENGTH = 250;
const MAX_PROMPT_LENGTH = 1_500;

/** Drafts the title and the text of a pull request: what was asked, and the commits. People edit both. */
export function draftPullRequest(
  { title, prompt }: Pick<Stage, 'title' | 'prompt'>,
  subjects: readonly string[],
): { title: string; body: string } {
  const asked = shortened(prompt.trim());
  const commits = subjects.length < 2 ? [] : ['', 'Commits:', '', ...subjects.map((subject) => `- ${subject}`)];
  return { title: title.trim().slice(0, MAX_TITLE_LENGTH), body: [asked, ...commits].join('\n').trim() };
}

function shortened(text: string): string {
  if (text.length <= MAX_PROMPT_LENGTH) return text;
  return `${text.slice(0, MAX_PROMPT_LENGTH).replace(/\s\S*$/, '')} ...`;
}

/** Drafts the message of a commit of everything that is left, from what the stage was asked to do. */
export function draftCommitMessage({ title, prompt }: Pick<Stage, 'title' | 'prompt'>): string {
  const [paragraph = ''] = prompt.trim().split(/\n\s*\n/);
  const text = paragraph.replaceAll(/\s+/g, ' ').trim();
  const body = text.length > 400 ? `${text.slice(0, 400).replace(/\s\S*$/, '')} ...` : text;
  return body === '' || body === title.trim() ? title.trim() : `${title.trim()}\n\n${body}`;
}
