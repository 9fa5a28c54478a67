import type { PullRequest } from '@callboard/contract';
import { Flex, Text } from '@mantine/core';
import {
  IconGitMerge,
  IconGitPullRequest,
  IconGitPullRequestClosed,
  IconGitPullRequestDraft,
} from '@tabler/icons-react';
import { Fragment } from 'react';
import { exactTime } from '../lib/format.ts';
import { HOST_NAMES, pullRequestDeps } from '../lib/pull-request-text.ts';
import { TimeSince } from './text.tsx';

const ICONS = {
  draft: IconGitPullRequestDraft,
  open: IconGitPullRequest,
  merged: IconGitMerge,
  closed: IconGitPullRequestClosed,
} as const;

interface PullRequestLineProps {
  pullRequest: PullRequest;
  /** The number leads to the code host. A row is a link itself. */
  isLink?: boolean;
}

/** "#12 open, checks failing, 2 comments", and since when that is not known to be true. */
export function PullRequestLine({ pullRequest, isLink = false }: PullRequestLineProps) {
  const { state, url, host, title, stale, checkedAt } = pullRequest;
  const Icon = ICONS[state];
  const [first, ...rest] = pullRequestDeps(pullRequest);
  return (
    <Flex
      component="span"
      display="inline-flex"
      wrap="wrap"
      align="center"
      gap="0 4px"
      miw={0}
      title={`${title} (as of ${exactTime(checkedAt)})`}
    >
      <Icon size={14} aria-hidden />
      {isLink ? (
        <a href={url} target="_blank" rel="noreferrer" aria-label={`${first?.text} on ${HOST_NAMES[host]}`}>
          {first?.text}
        </a>
      ) : (
        <span data-tone={first?.tone}>{first?.text}</span>
      )}
      {/* Each part brings the comma before it, which stays on the line of the part before, and is no wider than its sign. */}
      {rest.map(({ text, tone }) => (
        <Fragment key={text}>
          <Text span inherit ml={-4}>
            ,{' '}
          </Text>
          <span data-tone={tone}>{text}</span>
        </Fragment>
      ))}
      {stale !== null && (
        <>
          <Text span inherit ml={-4}>
            ,{' '}
          </Text>
          <Text span inherit c="dimmed" title={stale}>
            <TimeSince at={checkedAt} /> ago
          </Text>
        </>
      )}
    </Flex>
  );
}
