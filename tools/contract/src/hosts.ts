/** A host name that needs no quoting anywhere: letters, digits, hyphens, underscores and single dots. */
const NAME = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
const IPV6 = /^(?=.*:.*:)[0-9a-f:]+(?::\d{1,3}(?:\.\d{1,3}){3})?$/;
const MAX_LENGTH = 253;

/** A location that a person should know before they let a command connect. */
export type HostLocation = 'this-machine' | 'metadata' | 'local-network';

/** The addresses at which clouds hand out the credentials of a machine. */
const METADATA = new Set(['169.254.169.254', 'metadata.google.internal', 'fd00:ec2::254', '100.100.100.200']);
const THIS_MACHINE = /^(?:localhost|.*\.localhost|127(?:\.\d+){1,3}|0(?:\.0){0,3}|::1?|::ffff:127\..*)$/;
const LOCAL_ADDRESS =
  /^(?:10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}|169\.254(?:\.\d+){2}|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)$/;
const LOCAL_NAME = /^(?:[^.:]+|.*\.(?:local|lan|internal|home\.arpa))$/;

/** Returns where a host is, judged by its name; null for any other host. */
export function hostLocation(host: string): HostLocation | null {
  const name = host
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1');
  if (METADATA.has(name)) return 'metadata';
  if (THIS_MACHINE.test(name)) return 'this-machine';
  return LOCAL_ADDRESS.test(name) || LOCAL_NAME.test(name) ? 'local-network' : null;
}

/**
 * Returns the rule that lets exactly this host through the sandbox. Null for hosts that are never remembered: a name that
 * may stand for several hosts (a wildcard, a port, a character with a meaning in rules), this machine itself, and the
 * addresses at which clouds hand out credentials.
 */
export function hostRule(host: string): string | null {
  const name = host.toLowerCase().replace(/\.$/, '');
  const place = hostLocation(name);
  if (name.length > MAX_LENGTH || place === 'this-machine' || place === 'metadata') return null;
  if (NAME.test(name)) return name;
  const address = name.replace(/^\[(.*)\]$/, '$1');
  return IPV6.test(address) ? `[${address}]` : null;
}
