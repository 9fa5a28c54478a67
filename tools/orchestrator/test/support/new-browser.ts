import { createPageKey } from '../../../../test-support/page-key.ts';

export const ORIGIN = 'http://127.0.0.1:3100';

/** What a browser reports about itself at its login. */
export const newBrowser = () => ({ key: createPageKey().key, origin: ORIGIN, browser: 'Firefox on Linux' });
