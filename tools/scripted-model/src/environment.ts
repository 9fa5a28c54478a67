/**
 * A clean environment for `claude`: no account, none of the user's settings, and no address except the model's.
 * Passes on nothing of the parent's environment.
 */
export function claudeEnvironment(
  modelUrl: string,
  home: string,
  path = '/usr/local/bin:/usr/bin:/bin',
): Record<string, string> {
  return {
    PATH: path,
    HOME: home,
    SHELL: '/bin/bash', // without it, `claude` runs commands in zsh where that is installed
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'scripted-model',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  };
}
