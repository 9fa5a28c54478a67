/**
 * Keys of Claude Code's settings (2.1.330), by their effect. A key that is not listed needs trust.
 */

/** Commands that Claude Code runs on its own, and why. */
export const HELPERS: Readonly<Record<string, string>> = {
  apiKeyHelper: 'is run to get the API key',
  proxyAuthHelper: 'is run to log in at a proxy',
  awsAuthRefresh: 'is run to log in at AWS',
  awsCredentialExport: 'is run to get credentials for AWS',
  gcpAuthRefresh: 'is run to log in at Google Cloud',
  otelHeadersHelper: 'is run to send telemetry',
  statusLine: 'is run to draw a status line',
  subagentStatusLine: 'is run to draw a status line',
  fileSuggestion: 'is run to suggest files',
  processWrapper: 'is put before programs that Claude Code starts',
  policyHelper: 'is run to make settings',
  policyHelpers: 'is run to make settings',
  sshHostCommands: 'is run to find a host',
};

export const PLUGINS: ReadonlySet<string> = new Set([
  'enabledPlugins',
  'prependPlugins',
  'appendPlugins',
  'extraKnownMarketplaces',
  'additionalMarketplaces',
  'pluginConfigs',
]);

/** Keys that run nothing, allow nothing and override nothing of the user's. They are given without trust, too. */
export const HARMLESS: ReadonlySet<string> = new Set([
  'alwaysThinkingEnabled',
  'attribution',
  'autoUpdatesChannel',
  'awaySummaryEnabled',
  'breakReminder',
  'claudeMdExcludes',
  'companyAnnouncements',
  'deniedMcpServers',
  'disabledMcpjsonServers',
  'effortLevel',
  'emojiCompletionEnabled',
  'feedbackSurveyRate',
  'includeCoAuthoredBy',
  'includeGitInstructions',
  'language',
  'maxProseWidth',
  'model',
  'outputStyle',
  'prUrlTemplate',
  'prefersReducedMotion',
  'promptSuggestionEnabled',
  'quietHours',
  'respectGitignore',
  'showThinkingSummaries',
  'skillOverrides',
  'spellcheck',
  'spinnerTipsEnabled',
  'spinnerTipsOverride',
  'spinnerVerbs',
  'syntaxHighlightingDisabled',
  'terminalTitleFromRename',
  'theme',
  'timeFormat',
  'timeZone',
  'tui',
  'viewMode',
]);

/** Keys under `permissions` that only restrict. */
export const HARMLESS_PERMISSIONS: ReadonlySet<string> = new Set([
  'deny',
  'ask',
  'disableAutoMode',
  'disableBypassPermissionsMode',
]);

/** Modes that ask for no fewer calls than the default mode. */
export const ASKING_MODES: ReadonlySet<unknown> = new Set(['default', 'manual', 'plan']);
