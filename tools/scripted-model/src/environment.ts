/**
 * A clean environment in which `claude` knows no account, no settings of the user and no address but the model's.
 * Nothing of the parent's environment is handed on.
 */
export function claudeEnvironment(
  modelUrl: string,
  home: string,
  path = '/usr/local/bin:/usr/bin:/bin',
): Record<string, string> {
  return {
    PATH: path,
    HOME: home,
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'scripted-model',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  };
}
