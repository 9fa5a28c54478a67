import { Checkbox, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { boardQuery } from '../../../data/queries.ts';
import { type SandboxForm, sandboxProblems } from '../model/sandbox-form.ts';
import css from './forms.module.css';
import { SandboxSupportNote } from './sandbox-support-note.tsx';

interface SandboxFieldsProps {
  form: SandboxForm;
  set: (change: Partial<SandboxForm>) => void;
}

const CODE = { input: { fontFamily: 'var(--font-code)' } };

/** Whether Claude's commands run in the sandbox, and what they can reach from there. */
export function SandboxFields({ form, set }: SandboxFieldsProps) {
  const problems = sandboxProblems(form);
  const { data: support } = useQuery({ ...boardQuery, select: (view) => view.sandbox });
  return (
    <>
      <Checkbox
        label="Run Claude’s commands in a sandbox"
        description="They can write only to the worktree, cannot approve their own requests, and ask before they use the network. If tests need a database or Docker, allow its hosts and sockets below, or turn this off. Takes effect when a stage next starts."
        checked={form.sandbox === true}
        onChange={(event) => set({ sandbox: event.currentTarget.checked })}
      />
      {form.sandbox === true && support !== undefined && <SandboxSupportNote support={support} />}
      {form.sandbox === true && (
        <div className={css.phase}>
          <Checkbox
            label="Fewer questions"
            description="Commands in the sandbox run without asking. They still ask to use the network or to leave the sandbox."
            checked={form.autoAllow}
            onChange={(event) => set({ autoAllow: event.currentTarget.checked })}
          />
          <div className={css.row}>
            <Textarea
              label="Hosts to reach without asking"
              description="One per line, such as packages.example.com or *.example.com."
              autosize
              minRows={2}
              maxRows={6}
              value={form.hosts}
              error={problems.hosts}
              styles={CODE}
              onChange={(event) => set({ hosts: event.currentTarget.value })}
            />
            <Textarea
              label="Sockets to connect to"
              description="One path per line. On Linux, one socket opens them all: forged answers are then noticed, not prevented."
              autosize
              minRows={2}
              maxRows={6}
              value={form.sockets}
              error={problems.sockets}
              styles={CODE}
              onChange={(event) => set({ sockets: event.currentTarget.value })}
            />
          </div>
        </div>
      )}
    </>
  );
}
