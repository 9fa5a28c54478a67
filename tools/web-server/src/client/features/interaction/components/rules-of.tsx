import { type PermissionRule, type ProjectId, type RepositoryHook, visibleText } from '@callboard/contract';
import { Button, Switch } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { errorText } from '../../../lib/api.ts';
import { useCanCommand } from '../../../live/live-context.tsx';
import { rulesQuery } from '../../../live/rules.ts';
import { FailureNote } from '../../../ui/note.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { TimeSince } from '../../../ui/time-since.tsx';
import { useStageTitle } from '../api/use-request.ts';
import { useProjectSetting, useTakeBack } from '../api/use-rules.ts';
import css from './content.module.css';

/** The rules of one project and its stages, and those of its repository. */
export default function RulesOf({ projectId }: { projectId: ProjectId }) {
  const { data, error } = useQuery(rulesQuery(projectId));
  return (
    <>
      {error !== null && <FailureNote>The rules could not be read. {errorText(error)}</FailureNote>}
      {data !== undefined && (
        <>
          <KeptRules projectId={projectId} rules={data.rules} />
          <RepositoryRules projectId={projectId} rules={data.repository} />
          <RepositoryHooks projectId={projectId} hooks={data.hooks} />
        </>
      )}
    </>
  );
}

function KeptRules({ projectId, rules }: { projectId: ProjectId; rules: readonly PermissionRule[] }) {
  return (
    <section className={css.dialogPart} aria-labelledby="rules-kept">
      <h3 id="rules-kept">Allowed for good</h3>
      {rules.length === 0 ? (
        <p className={css.hint}>Nothing. “Always allow …” on a request adds to it.</p>
      ) : (
        <>
          <ul className={css.rules}>
            {rules.map((rule) => (
              <KeptRule key={rule.ruleId} projectId={projectId} rule={rule} />
            ))}
          </ul>
          <p className={css.hint}>
            Every start is given these. What is taken back holds in a session that is running until it ends.
          </p>
        </>
      )}
    </section>
  );
}

function KeptRule({ projectId, rule }: { projectId: ProjectId; rule: PermissionRule }) {
  const takeBack = useTakeBack(projectId);
  const canCommand = useCanCommand();
  return (
    <li>
      <div>
        {rule.kind === 'directory' && <span className={css.hint}>Folder </span>}
        <code className={css.rule}>
          <Seen text={rule.rule} kind="command" />
        </code>
        <div className={css.hint}>
          {rule.stageId === null ? 'all stages of the project' : <OneStage stageId={rule.stageId} />}
          {rule.by !== null && `, by ${rule.by}`}, <TimeSince at={rule.createdAt} ago />
        </div>
      </div>
      <Button
        variant="default"
        size="compact-md"
        aria-label={`Take back ${visibleText(rule.rule, 'command')}`}
        disabled={!canCommand}
        loading={takeBack.isPending}
        onClick={() => takeBack.mutate(rule)}
      >
        Take back
      </Button>
    </li>
  );
}

function OneStage({ stageId }: { stageId: NonNullable<PermissionRule['stageId']> }) {
  return <>stage “{useStageTitle(stageId)}”</>;
}

function RepositoryRules({ projectId, rules }: { projectId: ProjectId; rules: readonly string[] }) {
  return (
    <BroughtAlong
      projectId={projectId}
      setting="passRepositoryRules"
      title="The repository’s own"
      none="The repository’s settings allow nothing by themselves."
      label="Pass them to Claude"
      description="Claude Code ignores the allow rules of a repository’s settings in a worktree that nobody has trusted."
      items={rules}
      row={(rule, isOn) => (
        <li key={rule}>
          <code className={css.rule}>
            <Seen text={rule} kind="command" />
          </code>
          <span className={css.hint}>{isOn ? 'passed' : 'ignored'}</span>
        </li>
      )}
    />
  );
}

function RepositoryHooks({ projectId, hooks }: { projectId: ProjectId; hooks: readonly RepositoryHook[] }) {
  return (
    <BroughtAlong
      projectId={projectId}
      setting="runRepositoryHooks"
      title="The repository’s hooks"
      none="The repository’s settings have none. Your own hooks run."
      label="Run them"
      description="A hook may allow tools without anybody being asked. Where the repository has hooks that do not run, your own are off as well. A session takes a change over when it is started next."
      items={hooks}
      row={({ event, matcher, command, file }, isOn) => (
        <li key={`${file} ${event} ${matcher} ${command}`}>
          <div>
            <div className={css.hint}>
              {event}
              {matcher !== null && `, ${matcher}`}, in {file}
            </div>
            <code className={css.rule}>
              <Seen text={command} kind="command" />
            </code>
          </div>
          <span className={css.hint}>{isOn ? 'runs' : 'off'}</span>
        </li>
      )}
    />
  );
}

interface BroughtAlongProps<Item> {
  projectId: ProjectId;
  setting: Parameters<typeof useProjectSetting>[1];
  title: string;
  /** What is said where there are no items. */
  none: string;
  /** Of the switch: what it lets happen. */
  label: string;
  description: string;
  items: readonly Item[];
  row: (item: Item, isOn: boolean) => ReactNode;
}

/** What a repository brings along, and whether it counts. */
function BroughtAlong<Item>(props: BroughtAlongProps<Item>) {
  const { projectId, setting, title, none, label, description, items, row } = props;
  const [isOn, change] = useProjectSetting(projectId, setting);
  const canCommand = useCanCommand();
  const titleId = useId();
  return (
    <section className={css.dialogPart} aria-labelledby={titleId}>
      <h3 id={titleId}>{title}</h3>
      {items.length === 0 ? (
        <p className={css.hint}>{none}</p>
      ) : (
        <ul className={css.rules}>{items.map((item) => row(item, isOn))}</ul>
      )}
      {(items.length > 0 || isOn) && (
        <Switch
          label={label}
          description={description}
          checked={isOn}
          disabled={!canCommand || change.isPending}
          onChange={(event) => change.mutate(event.currentTarget.checked)}
        />
      )}
    </section>
  );
}
