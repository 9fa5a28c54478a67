import { posix } from 'node:path';
import type { Finding } from './findings.ts';

const SECRET_NAME =
  /^(?:\.ssh|\.aws|\.gnupg|\.kube|\.azure|\.password-store|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.vault-token|\.htpasswd|\.credentials\.json|\.claude\.json|\.(?:ba|z)sh_history|id_(?:rsa|dsa|ecdsa|ed25519)|(?:credentials|secrets?)(?:\.(?:json|ya?ml|toml|ini|env|txt))?|.+\.(?:pem|p12|pfx|key|keystore|jks|kdbx))$/i;
const SECRET_FOLDER = /^(?:\.ssh|\.aws|\.gnupg|\.kube|\.azure|\.password-store)$/i;
const ENV_FILE = /^\.env(?!.*\.(?:example|sample|template|dist)$)(?:[.*?].*)?$/i;
const SECRET_PATH =
  /(?:^|\/)(?:etc\/(?:g?shadow|sudoers)|proc\/[^/]+\/environ|\.docker\/config\.json|\.config\/(?:gh|gcloud|op|hub)(?:\/|$))/i;

/** Whether a path is one of those that usually hold keys, passwords or tokens. */
function isSecretPath(path: string): boolean {
  const names = path.split('/').filter((name) => name !== '');
  const last = names.at(-1) ?? '';
  return (
    SECRET_PATH.test(path) ||
    SECRET_NAME.test(last) ||
    ENV_FILE.test(last) ||
    (names.some((name) => SECRET_FOLDER.test(name)) && !last.endsWith('.pub'))
  );
}

/** Whether a pattern may also find such a path: `.e*`, `id_*`. */
export const mayFindSecret = (path: string): boolean =>
  path.split('/').some((name) => /[*?[]/.test(name) && /^(?:\.|id|cred|secret|\*\.(?:p|k|j))/i.test(name));

const RUNS_LATER =
  /(?:^|\/)(?:\.git\/hooks|\.husky|cron(?:tabs?|\.(?:d|daily|hourly|weekly|monthly))|crontab|systemd|LaunchAgents|LaunchDaemons|autostart|init\.d|\.github\/workflows)(?:\/|$)|(?:^|\/)(?:\.(?:bash|zsh)(?:rc|_profile|_login|_logout)|\.zshenv|\.zprofile|\.profile|\.bash_aliases|\.envrc|\.gitconfig|\.git\/config|\.gitlab-ci\.yml|\.pre-commit-config\.yaml|\.vscode\/tasks\.json|\.claude\/settings(?:\.local)?\.json|\.mcp\.json)$/;

/** Whether what stands in this file is run by something else at another time. */
const runsLater = (path: string): boolean => RUNS_LATER.test(path);

const HARMLESS_DEVICE = /^\/dev\/(?:null|zero|u?random|std(?:in|out|err)|tty|fd\/\d+)$/;

/** Whether a path leaves the worktree. @param folder where relative paths begin; null if nobody knows */
function isOutside(path: string, folder: string | null, worktree: string | null): boolean {
  if (HARMLESS_DEVICE.test(path)) return false;
  if (path.startsWith('~')) return true;
  const start = folder ?? worktree ?? '/worktree';
  const root = worktree ?? '/worktree';
  const full = posix.normalize(path.startsWith('/') ? path : posix.join(start, path));
  return full !== root && full !== `${root}/` && !full.startsWith(`${root}/`);
}

type Reported = Omit<Finding, 'command'>;

/** What is at risk because a call touches this path. @param writes whether it may change the file */
export function pathFindings(
  path: string,
  { folder, worktree, writes }: { folder: string | null; worktree: string | null; writes: boolean },
): Reported[] {
  const found: Reported[] = [];
  const subject = /(?:^|\/)\.\.$/.test(path) ? `${path}/` : path;
  if (writes && runsLater(path)) found.push({ code: 'schedules', lead: 'Sets up code that runs later:', subject });
  if (isSecretPath(path)) found.push({ code: 'credentials', lead: 'Touches credentials:', subject });
  if (isOutside(path, folder, worktree))
    found.push({ code: 'outside', lead: 'Reaches outside the worktree:', subject });
  return found;
}
