/**
 * Files that Claude Code's sandbox keeps commands from making (2.1.330), at the top of the checkout they work in. Where one of them
 * does not exist, the sandbox puts something empty in its place while a command runs.
 */
export const PLACEHOLDERS: readonly string[] = [
  ...['.bash_profile', '.bashrc', '.gitconfig', '.gitmodules', '.idea', '.mcp.json', '.profile', '.ripgreprc'],
  ...['.vscode', '.zprofile', '.zshrc'],
  ...[
    ...['.cc-writes', 'agents', 'commands', 'hooks', 'launch.json', 'loop.md', 'output-styles', 'routines', 'rules'],
    ...['scheduled_tasks.json', 'settings.json', 'settings.local.json', 'skills', 'workflows'],
  ].map((name) => `.claude/${name}`),
];
