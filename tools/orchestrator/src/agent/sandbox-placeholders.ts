/**
 * Files at the top of the checkout that Claude Code's sandbox keeps commands from creating (2.1.330). While a command runs,
 * the sandbox puts something empty in the place of each one that does not exist.
 */
export const PLACEHOLDERS: readonly string[] = [
  ...['.bash_profile', '.bashrc', '.gitconfig', '.gitmodules', '.idea', '.mcp.json', '.profile', '.ripgreprc'],
  ...['.vscode', '.zprofile', '.zshrc'],
  ...[
    ...['.cc-writes', 'agents', 'commands', 'hooks', 'launch.json', 'loop.md', 'output-styles', 'routines', 'rules'],
    ...['scheduled_tasks.json', 'settings.json', 'settings.local.json', 'skills', 'workflows'],
  ].map((name) => `.claude/${name}`),
];

/** Returns in words that these files were committed. */
export function placeholderText(files: readonly string[]): string {
  const [list, rest] = [files.slice(0, 5).join(', '), files.length > 5 ? ', …' : ''];
  const what = files.length === 1 ? '1 file of the branch is' : `${files.length} files of the branch are`;
  return `${what} only a placeholder of Claude Code’s sandbox, committed by mistake (${list}${rest}).`.replace(
    'are only a placeholder of',
    'are only placeholders of',
  );
}
