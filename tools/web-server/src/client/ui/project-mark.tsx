import { projectAppearance } from '../lib/project-look.ts';
import css from './project-mark.module.css';

interface ProjectMarkProps {
  /** The project's name. */
  name: string;
  size?: number;
}

/** A project's small sign, in its own tint, stable by its name. Decorative: the name stands beside it or on hover of its row. */
export function ProjectMark({ name, size = 12 }: ProjectMarkProps) {
  const { shape, tint } = projectAppearance(name);
  return (
    <span className={css.mark} data-tint={tint} title={name} aria-hidden>
      <svg width={size} height={size} viewBox="0 0 12 12" fill="currentColor" aria-hidden>
        <path d={shape} fillRule="evenodd" />
      </svg>
    </span>
  );
}
