import type { StageView } from '@callboard/contract';
import { ActionIcon, Button, Group, VisuallyHidden } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Link, useParams } from 'react-router';
import { boardQuery } from '../../data/queries.ts';
import { loadAll } from '../../data/recent-events.ts';
import { exactDuration } from '../../lib/format.ts';
import { ErrorNote } from '../../ui/notes.tsx';
import { PlainPage } from '../../ui/plain-page.tsx';
import { drawFilm, HEIGHT, readColors, WIDTH } from './draw-film.ts';
import { type Film, filmOf } from './film.ts';

/** A stage as a film of twenty seconds, from its own log. */
export default function ReplayPage() {
  const { stageId } = useParams();
  const { data: stage } = useQuery({ ...boardQuery, select: (view) => view.stages.find(({ id }) => id === stageId) });
  return stage === undefined ? (
    <PlainPage title={`There is no stage ${stageId}`}>{null}</PlainPage>
  ) : (
    <Replay stage={stage} />
  );
}

function Replay({ stage }: { stage: StageView }) {
  const {
    data: entries,
    error,
    refetch,
  } = useQuery({
    queryKey: ['replay', stage.id],
    queryFn: ({ signal }) => loadAll(stage.id, signal),
  });
  const film = useMemo(() => (entries === undefined ? null : filmOf(stage, entries)), [stage, entries]);
  return (
    <PlainPage title="Replay" about={<Link to={`/stages/${stage.id}`}>{stage.title}</Link>}>
      {error !== null && <ErrorNote lead="The transcript was not read." error={error} retry={() => void refetch()} />}
      {film !== null && <Player film={film} name={stage.id} />}
    </PlainPage>
  );
}

const isStill = () => window.matchMedia('(prefers-reduced-motion: reduce)').matches;

function Player({ film, name }: { film: Film; name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [ms, setMs] = useState(() => (isStill() ? film.lengthMs : 0));
  const [isPlaying, setIsPlaying] = useState(() => !isStill());
  const [isSaving, setIsSaving] = useState(false);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context) drawFilm(context, film, ms, readColors());
  }, [film, ms]);
  useEffect(() => {
    if (!isPlaying) return;
    let last = performance.now();
    let frame = requestAnimationFrame(function step(now) {
      const past = now - last;
      last = now;
      setMs((before) => Math.min(film.lengthMs, before + past));
      frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [isPlaying, film]);
  const isOver = ms >= film.lengthMs;
  useEffect(() => {
    if (isOver) setIsPlaying(false);
  }, [isOver]);
  const play = () => {
    if (isOver) setMs(0);
    setIsPlaying(!isPlaying);
  };
  async function save(): Promise<void> {
    if (canvas.current === null) return;
    setIsSaving(true);
    setMs(0);
    setIsPlaying(true);
    try {
      await record(canvas.current, film.lengthMs, name);
    } finally {
      setIsSaving(false);
    }
  }
  return (
    <>
      <canvas ref={canvas} width={WIDTH} height={HEIGHT} style={{ width: '100%', maxWidth: 960 }} aria-hidden />
      <VisuallyHidden>
        <ol aria-label="Steps">
          {film.steps.map(({ text, detail, atMs, sinceStartMs }) => (
            <li key={atMs}>
              {exactDuration(sinceStartMs)}: {text} {detail}
            </li>
          ))}
        </ol>
      </VisuallyHidden>
      <Group maw={960} wrap="nowrap" mt="sm">
        <ActionIcon
          variant="default"
          size="lg"
          disabled={isSaving}
          onClick={play}
          aria-label={isPlaying ? 'Pause' : 'Play'}
        >
          {isPlaying ? <IconPlayerPause size={18} /> : <IconPlayerPlay size={18} />}
        </ActionIcon>
        <input
          type="range"
          style={{ flex: 1, minWidth: 0, accentColor: 'var(--accent)' }}
          aria-label="Position"
          aria-valuetext={exactDuration(ms)}
          max={film.lengthMs}
          step={100}
          value={ms}
          onChange={({ target }) => setMs(Number(target.value))}
          disabled={isSaving}
        />
        {videoType() !== null && (
          <Button variant="default" loading={isSaving} onClick={() => void save()}>
            Save as video
          </Button>
        )}
      </Group>
    </>
  );
}

/** What GitHub and GitLab show in a pull request; the first that this browser can write. */
const VIDEO_TYPES = ['video/mp4;codecs=avc1.42E01E', 'video/mp4', 'video/webm;codecs=vp9', 'video/webm'];

const videoType = (): string | null =>
  typeof MediaRecorder === 'undefined'
    ? null
    : (VIDEO_TYPES.find((type) => MediaRecorder.isTypeSupported(type)) ?? null);

const FRAMES_A_SECOND = 30;

/** Records the canvas for as long as the film takes, and lets the browser save it. */
async function record(canvas: HTMLCanvasElement, lengthMs: number, name: string): Promise<void> {
  const mimeType = videoType() ?? '';
  const recorder = new MediaRecorder(canvas.captureStream(FRAMES_A_SECOND), { mimeType });
  const parts: Blob[] = [];
  recorder.addEventListener('dataavailable', ({ data }) => parts.push(data));
  const ended = new Promise((resolve) => recorder.addEventListener('stop', resolve));
  recorder.start();
  await new Promise((resolve) => setTimeout(resolve, lengthMs));
  recorder.stop();
  await ended;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, { type: mimeType }));
  link.download = `${name}.${mimeType.startsWith('video/mp4') ? 'mp4' : 'webm'}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
