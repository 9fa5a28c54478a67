/** Our environment without what a test runner adds: a build that sees it bundles React's development version. */
export const withoutRunner = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV|TEST$)/.test(name)));
