import { type Call, type Rule, report, reportUnknown, splitArgs, touch } from './call.ts';
import { writes } from './readers.ts';

/** Commands that change files they are given. @param danger options that make it run something */
const changes =
  (danger?: RegExp): Rule =>
  (call) => {
    const { options, operands } = splitArgs(call.args);
    if (options.some(({ text, isLiteral }) => !isLiteral || danger?.test(text) === true)) reportUnknown(call);
    writes(call, operands);
  };

/** `chmod 755 x`: the first operand is no path. */
const changesAfterFirst: Rule = (call) => writes(call, splitArgs(call.args).operands.slice(1));

/** `cp a b`: reads all but the last. */
const copies: Rule = (call) => {
  const { operands, options } = splitArgs(call.args);
  if (options.some(({ isLiteral }) => !isLiteral)) reportUnknown(call);
  for (const from of operands.slice(0, -1)) touch(call, from, call.name === 'mv');
  writes(call, operands.slice(-1));
};

const deletes: Rule = (call) => {
  const { options, operands } = splitArgs(call.args);
  const isDeep = options.some(({ text }) => /^-[a-zA-Z]*[rR]|^--r/.test(text));
  const lead = isDeep ? 'Deletes with all contents:' : 'Deletes';
  if (operands.length === 0) report(call, { code: 'deletes', lead: 'Deletes files' });
  for (const target of operands) {
    report(call, { code: 'deletes', lead, subject: target.source });
    touch(call, target, true);
  }
};

const overwrites: Rule = (call) => {
  const { operands } = splitArgs(call.args);
  const named = operands.flatMap(({ text }) => /^of=(.*)$/s.exec(text)?.[1] ?? (call.name === 'dd' ? [] : [text]));
  if (named.length === 0 && call.name === 'dd') return reportUnknown(call);
  for (const subject of named) report(call, { code: 'deletes', lead: 'Overwrites', subject });
  for (const arg of operands) touch(call, { ...arg, text: arg.text.replace(/^[io]f=/, '') }, true);
};

const destroys: Rule = (call) => report(call, { code: 'deletes', lead: 'Erases a disk or database' });

const archives: Rule = (call) => {
  const { operands, options } = splitArgs(call.args);
  const runs = /^-[a-zA-Z]*[IF]|^--(?:to-command|checkpoint|use-compress|rsh|info-script|rmt|new-volume)/;
  if (options.some(({ text, isLiteral }) => !isLiteral || runs.test(text))) reportUnknown(call);
  report(call, { code: 'writes', lead: 'Packs or unpacks files' });
  for (const path of operands) touch(call, path, true);
};

const schedules =
  (harmless: RegExp | null): Rule =>
  (call) => {
    const { text } = call.args[0] ?? { text: '' };
    if (harmless?.test(text) === true) reportUnknown(call);
    else report(call, { code: 'schedules', lead: `Schedules something with ${call.name}` });
  };

const crontab: Rule = (call) => {
  const has = (option: RegExp) => call.args.some(({ text }) => option.test(text));
  if (has(/^-[a-z]*r/)) report(call, { code: 'schedules', lead: 'Removes all scheduled jobs (crontab)' });
  else if (!has(/^-[a-z]*l/) || has(/^(?!-[lu]$)-/))
    report(call, { code: 'schedules', lead: 'Changes scheduled jobs (crontab)' });
};

const SYSTEMD_READS = /^(?:status|show|cat|list-\S+|is-\S+)$/;

const systemctl: Rule = (call: Call) => {
  const verb = splitArgs(call.args).operands[0];
  if (verb?.isLiteral === true && SYSTEMD_READS.test(verb.text)) return;
  report(call, { code: 'schedules', lead: 'Changes system services' });
};

const ends: Rule = (call) => {
  if (call.args.some(({ text }) => /^-(?:l|L|0)$/.test(text))) return;
  report(call, {
    code: 'processes',
    lead: 'Ends processes:',
    subject:
      splitArgs(call.args)
        .operands.map((arg) => arg.source)
        .join(' ') || undefined,
  });
};

const secrets: Rule = (call) => report(call, { code: 'credentials', lead: `Uses stored credentials (${call.name})` });

const names = (list: string, rule: Rule): [string, Rule][] => list.split(' ').map((name) => [name, rule]);

/** Commands about files, schedules, processes and stored credentials. */
export const FILE_COMMANDS: readonly [string, Rule][] = [
  ...names('mkdir touch mktemp', changes()),
  ...names('tee', changes()),
  ...names('chmod chown chgrp', changesAfterFirst),
  ...names('cp mv ln install', copies),
  ...names('rm rmdir unlink shred srm trash', deletes),
  ...names('truncate dd', overwrites),
  ...names('mkfs mkswap wipefs fdisk parted dropdb', destroys),
  ...names('tar unzip zip gzip gunzip bzip2 bunzip2 xz unxz zstd 7z', archives),
  ...names('at batch launchctl systemd-run anacron schtasks', schedules(/^(?:list|print|-l|-q|--list)$/)),
  ['crontab', crontab],
  ['systemctl', systemctl],
  ...names('kill pkill killall', ends),
  ...names('security pass op bw gpg gpg2 ssh-add ssh-keygen secret-tool keyctl vault lpass', secrets),
];
