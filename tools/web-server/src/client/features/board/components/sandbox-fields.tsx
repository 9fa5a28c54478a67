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
        description="They write to the worktree only, cannot answer for you, and ask before they use the network. Turn it off, or allow hosts and sockets by name, if tests need a database or Docker. Applies from each stage’s next start."
        checked={form.sandbox === true}
        onChange={(event) => set({ sandbox: event.currentTarget.checked })}
      />
      {form.sandbox === true && support !== undefined && <SandboxSupportNote support={support} />}
      {form.sandbox === true && (
        <div className={css.phase}>
          <Checkbox
            label="Fewer questions"
            description="Commands in the sandbox run without asking. Using the network and leaving the sandbox are asked for."
            checked={form.autoAllow}
            onChange={(event) => set({ autoAllow: event.currentTarget.checked })}
          />
          <div className={css.row}>
            <Textarea
              label="Hosts to reach without asking"
              description="One a line, such as packages.example.com or *.example.com."
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
              description="One path a line. On Linux the first one opens every socket, so sessions then count as noticed only."
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
