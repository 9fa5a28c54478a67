import {
  type DryRun,
  exactDuration,
  type PendingRequest,
  type RuleLocation,
  type RuleOffer,
  RuleScope,
  visibleText,
} from '@callboard/contract';
import { Anchor, Button, Flex, Group, NativeSelect } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { rulesDialog } from '../../data/dialogs.ts';
import { rulesQuery } from '../../data/queries.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { count } from '../../lib/format.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { Hint, Tag } from '../../ui/primitives.tsx';
import { Seen, TimeSince } from '../../ui/text.tsx';

const SCOPES = [
  { value: 'project', label: 'the project' },
  { value: 'stage', label: 'this stage' },
];

/** Offers exact rules for what was allowed again and again. Saves nothing by itself. */
export function RuleOfferPanel({ offer, close }: { offer: RuleOffer; close: () => void }) {
  const { projectId, stageId, rules, times } = offer;
  const [scope, setScope] = useState<RuleScope>('project');
  const [end, setEnd] = useState('month');
  const save = useSaveRules(offer, close);
  const dismiss = useDismissOffer(close);
  const canCommand = useCanCommand();
  const place = scope === 'stage' ? { stageId } : { projectId };
  const isBusy = save.isPending || dismiss.isPending;
  return (
    <Flex component="section" direction="column" mb="xl" gap="sm" aria-labelledby="rules-offer">
      <h3 id="rules-offer">You allowed this {times} times</h3>
      {rules.map((rule) => (
        <div key={rule}>
          <Tag>
            <code>
              <Seen text={rule} kind="command" />
            </code>
          </Tag>
        </div>
      ))}
      <Hint>{matchText(rules)}</Hint>
      <DryRunLines rules={rules} scope={place} />
      <Group align="flex-end">
        <NativeSelect
          label="For"
          data={SCOPES}
          value={scope}
          onChange={(event) => setScope(RuleScope.parse(event.currentTarget.value))}
        />
        <NativeSelect
          label="Expires"
          data={RULE_ENDS.map(({ value, label }) => ({ value, label }))}
          value={end}
          onChange={(event) => setEnd(event.currentTarget.value)}
        />
        <Button
          disabled={!canCommand || isBusy}
          loading={save.isPending}
          onClick={() => save.mutate({ rules, scope: place, expiresAt: ruleEnd(end, Date.now()) })}
        >
          Save rule
        </Button>
        <Button variant="default" disabled={!canCommand || isBusy} onClick={() => dismiss.mutate(offer)}>
          Not now
        </Button>
      </Group>
    </Flex>
  );
}

/** What else exact rules match, beside what was allowed. */
export function matchText(rules: readonly string[]): string {
  const [rule = ''] = rules;
  if (rule.startsWith('WebFetch(')) return 'Matches every page of this site.';
  if (!rule.startsWith('Bash(')) return 'Matches every call of this tool, whatever its input.';
  return 'Matches exactly this command: alone, behind a wrapper such as timeout, with its output dropped, or in a longer command whose other parts are allowed or only read.';
}

const offerKey = ({ stageId, requestId }: Pick<PendingRequest, 'stageId' | 'requestId'>) =>
  ['rule-offer', stageId, requestId] as const;

/** The exact rules that a request was allowed three times for; null while there are none. */
export function useRuleOffer(request: PendingRequest): RuleOffer | null {
  const { stageId, requestId, suppressAlwaysAllow, leavesSandbox } = request;
  const { data } = useQuery({
    queryKey: offerKey(request),
    queryFn: ({ signal }) => client.command('get_rule_offer', { stageId, requestId }, { signal }),
    enabled: !suppressAlwaysAllow && leavesSandbox === null,
  });
  return data?.offer ?? null;
}

/** What rules would have done if they had applied all along: one result for each, as if all of them applied. */
export const useRehearsals = (rules: readonly string[], scope: RuleLocation) =>
  useQueries({
    queries: rules.map((rule) => ({
      queryKey: ['rehearsal', rule, rules, scope],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.command('rehearse_rule', { rule, scope, along: rules.filter((other) => other !== rule) }, { signal }),
      staleTime: 60_000,
    })),
  });

interface Saving {
  rules: readonly string[];
  scope: RuleLocation;
  expiresAt: string | undefined;
}

/** Saves the rules of an offer. */
export function useSaveRules({ projectId }: Pick<RuleOffer, 'projectId'>, done: () => void) {
  const cache = useQueryClient();
  return useCommand({
    async run({ rules, scope, expiresAt }: Saving) {
      for (const rule of rules) await client.command('add_rule', { rule, scope, ...(expiresAt && { expiresAt }) });
    },
    failed: 'The rule was not saved',
    done: () => {
      void cache.invalidateQueries({ queryKey: rulesQuery(projectId).queryKey });
      done();
    },
  });
}

/** Puts an offer away. */
export function useDismissOffer(done: () => void) {
  const cache = useQueryClient();
  return useCommand({
    run: ({ projectId, rules }: RuleOffer) => client.command('dismiss_rule_offer', { projectId, rules }),
    failed: 'The suggestion was not dismissed',
    done: () => {
      void cache.invalidateQueries({ queryKey: ['rule-offer'] });
      done();
    },
  });
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** When a rule may end, for a choice. */
export const RULE_ENDS = [
  { value: 'never', label: 'never', lastsMs: null },
  { value: 'hour', label: 'in 1 hour', lastsMs: HOUR_MS },
  { value: 'day', label: 'in 1 day', lastsMs: DAY_MS },
  { value: 'week', label: 'in 1 week', lastsMs: 7 * DAY_MS },
  { value: 'month', label: 'in 30 days', lastsMs: 30 * DAY_MS },
] as const;

/** The end date of a choice, from now on; undefined for a rule without an end. */
export function ruleEnd(choice: string, now: number): string | undefined {
  const lastsMs = RULE_ENDS.find(({ value }) => value === choice)?.lastsMs ?? null;
  return lastsMs === null ? undefined : new Date(now + lastsMs).toISOString();
}

/** What rules would have done so far, by the decision log: what they would have answered, and let through. */
export function DryRunLines({ rules, scope }: { rules: readonly string[]; scope: RuleLocation }) {
  const results = useRehearsals(rules, scope);
  return (
    <div aria-live="polite">
      {results.map(({ data, isError }, index) => (
        <Hint key={rules[index]} component="div">
          {rules.length > 1 && <Tag>{visibleText(rules[index] ?? '', 'command')}</Tag>}{' '}
          {isError && 'What it would have done so far is not known.'}
          {data === undefined && !isError && 'Comparing with the decision log …'}
          {data !== undefined && <Result dryRun={data} />}
        </Hint>
      ))}
    </div>
  );
}

function Result({ dryRun }: { dryRun: DryRun }) {
  const { waits, answered, waitedMs, unsure, denied, wouldAllowDenied, since } = dryRun;
  if (waits === 0) return null;
  return (
    <>
      This rule would have answered {answered} of your last {count(waits, 'request')}
      {answered > 0 && ` (${exactDuration(waitedMs)} of waiting)`}
      {since !== null && (
        <>
          {' '}
          since <TimeSince at={since} ago />
        </>
      )}
      .{unsure > 0 && ` ${count(unsure, 'more', 'more')}: only Claude Code can tell.`}
      {denied > 0 && (
        <details open>
          <summary>
            <strong>Would have let through {denied} that were denied</strong>
          </summary>
          <ul>
            {wouldAllowDenied.map((one) => (
              <li key={`${one.stageId}/${one.requestId}`}>
                {visibleText(one.asked, 'command')},{' '}
                <Anchor component={Link} to={`/stages/${one.stageId}`} inherit>
                  {one.stageTitle ?? one.stageId}
                </Anchor>
                , {one.by !== null && `by ${one.by} `}
                <TimeSince at={one.at} ago />
                {one.reason !== null && `: ${visibleText(one.reason, 'prose')}`}
              </li>
            ))}
            {denied > wouldAllowDenied.length && <li>and {denied - wouldAllowDenied.length} more</li>}
          </ul>
        </details>
      )}
    </>
  );
}

const SHOWN_MS = 15_000;

/** Offers the exact rule for what was just allowed, if that was the third time. A press opens it; nothing is saved by that. */
export async function notifyRuleOffer({ stageId, requestId }: PendingRequest): Promise<void> {
  const { offer } = await client.command('get_rule_offer', { stageId, requestId });
  if (offer === null) return;
  const id = `rule-offer ${offer.rules.join(' ')}`;
  const review = () => {
    notifications.hide(id);
    rulesDialog.open({ projectId: offer.projectId, offer });
  };
  notifications.show({
    id,
    title: `Allowed ${offer.times} times`,
    message: (
      <>
        <p>
          <code>
            <Seen text={offer.rules.join(', ')} kind="command" />
          </code>
        </p>
        <Button variant="default" size="compact-md" mt={8} onClick={review}>
          Make it a rule …
        </Button>
      </>
    ),
    color: 'gray',
    autoClose: SHOWN_MS,
  });
}
