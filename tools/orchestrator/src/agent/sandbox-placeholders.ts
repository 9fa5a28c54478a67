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
