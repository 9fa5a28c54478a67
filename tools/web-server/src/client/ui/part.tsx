import { serviceRoutes } from '@callboard/contract/client';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Component, type ErrorInfo, type ReactNode, Suspense, useState } from 'react';
import { client } from '../lib/api.ts';
import { PartNotFetched } from '../lib/on-demand.ts';
import { FailureNote } from './note.tsx';
import css from './part.module.css';

interface PartProps {
  /** What it is, at the beginning of a sentence. */
  name: string;
  /** Shown until it is there. */
  fallback?: ReactNode;
  /** What stands in it; when that changes, what failed before is tried again. */
  shows?: string | null;
  /** For what opens over the page, and has no place of its own in it: takes back that it was opened. */
  takeBack?: () => void;
  children: ReactNode;
}

interface PartState {
  failure: unknown;
  shows: PartProps['shows'];
}

/**
 * A part of the screen that is fetched on demand, or may fail. That it failed is told in its place, and everything around
 * it stays as it is.
 */
export class Part extends Component<PartProps, PartState> {
  override state: PartState = { failure: null, shows: this.props.shows };

  static getDerivedStateFromProps({ shows }: PartProps, state: PartState): Partial<PartState> | null {
    return shows === state.shows ? null : { shows, failure: null };
  }

  static getDerivedStateFromError(failure: unknown): Partial<PartState> {
    return { failure };
  }

  override componentDidCatch(failure: unknown, { componentStack }: ErrorInfo) {
    if (!(failure instanceof PartNotFetched)) console.error(failure, componentStack);
    if (this.props.takeBack === undefined) return;
    this.props.takeBack();
    notifications.show({
      id: this.props.name,
      color: 'red',
      title: `${this.props.name} ${why(failure)}`,
      message: 'Load the page anew to have it.',
    });
  }

  override render() {
    const { name, fallback = null, takeBack, children } = this.props;
    const { failure } = this.state;
    if (failure === null) return <Suspense fallback={fallback}>{children}</Suspense>;
    return takeBack === undefined ? <Failed name={name} failure={failure} /> : null;
  }
}

function why(failure: unknown): string {
  if (failure instanceof PartNotFetched)
    return 'could not be fetched: the connection is lost, or Callboard was updated meanwhile.';
  return `cannot be shown: ${failure instanceof Error ? failure.message : String(failure)}`;
}

function Failed({ name, failure }: { name: string; failure: unknown }) {
  const [attempt, setAttempt] = useState<'none' | 'running' | 'in-vain'>('none');
  const loadAnew = async () => {
    setAttempt('running');
    try {
      // Without an answer the browser would put a page of its own in place of what is on screen.
      await client.call(serviceRoutes.health, {});
      window.location.reload();
    } catch {
      setAttempt('in-vain');
    }
  };
  return (
    <div className={css.failed}>
      <FailureNote>
        {name} {why(failure)}
      </FailureNote>
      <Button variant="default" loading={attempt === 'running'} onClick={() => void loadAnew()}>
        Load the page anew
      </Button>
      <div role="status">{attempt === 'in-vain' && 'Callboard does not answer yet. What is on screen stays.'}</div>
    </div>
  );
}
