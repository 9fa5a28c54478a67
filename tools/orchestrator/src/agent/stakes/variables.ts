/** Variables that programs read to show or count something, and that cannot make them run anything. */
const HARMLESS = new Set([
  ...[
    'CI',
    'COLUMNS',
    'DEBUG',
    'FORCE_COLOR',
    'LANG',
    'LANGUAGE',
    'LC_ALL',
    'LC_CTYPE',
    'LINES',
    'NODE_ENV',
    'NO_COLOR',
  ],
  ...['CLICOLOR', 'CLICOLOR_FORCE', 'TERM', 'TZ', 'RUST_BACKTRACE', 'RUST_LOG', 'LOG_LEVEL', 'VERBOSE', 'PORT', 'HOST'],
]);

/** Whether setting a variable changes nothing but the script's own words: a lower-case name that no program reads. */
export const isHarmlessVariable = (name: string): boolean =>
  HARMLESS.has(name) || (/^[a-z_][a-z0-9_]*$/.test(name) && !name.endsWith('_proxy'));

/** Whether a variable of this name usually holds a key, a password or a token. */
export const namesSecret = (name: string): boolean =>
  /(?:^|[_$])(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY|ACCESS_KEY|CREDENTIALS?)(?:_|$)/i.test(name);
