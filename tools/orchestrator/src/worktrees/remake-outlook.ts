import type { Project, StageId } from '@callboard/contract';
import type { Git } from './git/git.ts';
import type { Misplaced } from './git/locate-checkout.ts';
import { tipOf } from './start-point.ts';

/** How many files a text names. */
const NAMED = 5;

/** Returns what stands in the place of a stage's worktree, so that nothing was run, and from what it would be made again, for people. */
export async function misplacedText(
  git: Git,
  project: Pick<Project, 'path'>,
  found: { stageId: StageId; branch: string; stands: Misplaced },
): Promise<string> {
  const outlook = await remakeOutlook(git, project, found);
  return `${found.stands.text} Nothing was run. Make the worktree again: ${outlook}`;
}

/** Returns from what the worktree would be made again and what is lost, for people: the rest of a sentence, and more of them. */
export async function remakeOutlook(
  git: Git,
  project: Pick<Project, 'path'>,
  { stageId, branch, stands }: { stageId: StageId; branch: string; stands: Misplaced },
): Promise<string> {
  const { kind } = stands;
  if (kind === 'copy') return 'this folder is used as it is, and nothing is lost.';
  if (kind === 'unlinked') return 'its .git file is written anew, and nothing is lost.';
  if (kind === 'moved') return 'git is told of its new place, and nothing is lost.';
  const tip = await tipOf(git, project, branch);
  const from =
    tip === null
      ? `its branch ${branch} is gone, too, and begins at the repository's current commit`
      : `from ${branch} at ${tip.slice(0, 7)}`;
  if (kind === 'unlisted')
    return `${from}, with all files of this folder as they are. Lost is what was staged, and what git had half done there.`;
  const record = await lastRecord(git, project, stageId);
  const open = record === null || record.head !== tip ? [] : await openFiles(git, project, record);
  const recorded = open.length === 0 ? '' : `, with ${named(open)} as last recorded`;
  const what = open.length === 0 ? 'not committed there' : 'changed there after that';
  const lost = `${from}${recorded}. Lost is what was ${what}, and files that git ignores.`;
  if (kind === 'link') return `${lost} The link goes; where it leads to stays as it is.`;
  return kind === 'file' || kind === 'other' ? `${lost} What stands there goes to the trash.` : lost;
}

function named(files: readonly string[]): string {
  const more = files.length > NAMED ? `, and ${files.length - NAMED} more` : '';
  return `${files.length === 1 ? '1 uncommitted file' : `${files.length} uncommitted files`} (${files.slice(0, NAMED).join(', ')}${more})`;
}

interface TurnRecord {
  head: string;
  tree: string;
}

/** The files of the worktree as they were recorded last, between two turns; null if they never were. */
export async function lastRecord(
  git: Git,
  { path }: Pick<Project, 'path'>,
  stageId: StageId,
): Promise<TurnRecord | null> {
  const format = '--format=%(tree) %(parent)';
  const order = ['--sort=-refname', '--sort=-committerdate', '--count=1'];
  const reported = await git.try(path, ['for-each-ref', ...order, format, `refs/callboard/turns/${stageId}/`]);
  const [tree = '', head = ''] = reported.stdout.trim().split(' ');
  return reported.failed || head === '' ? null : { head, tree };
}

async function openFiles(git: Git, { path }: Pick<Project, 'path'>, { head, tree }: TurnRecord): Promise<string[]> {
  const list = ['diff-tree', '-r', '--no-renames', '--name-only', '-z', `${head}^{tree}`, tree];
  const reported = await git.try(path, list);
  return reported.failed ? [] : reported.stdout.split('\0').filter((name) => name !== '');
}
