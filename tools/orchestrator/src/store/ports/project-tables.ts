import type { Capabilities, Project, ProjectId, StageId } from '@callboard/contract';
import type { GitAgreement } from '../../lib/git-agreement.ts';
import type { AgreedSettings } from '../records.ts';

/** Registered repositories. */
export interface ProjectsTable {
  /** Oldest first. */
  list(): Promise<Project[]>;
  find(id: ProjectId): Promise<Project | null>;
  /** @param path the root of the repository */
  findByPath(path: string): Promise<Project | null>;
  /** Inserts or replaces it. The agreement to its git settings stays. */
  save(project: Project): Promise<void>;
  /** The git settings that a person agreed to, and those pending; null before the first check. */
  gitAgreement(id: ProjectId): Promise<GitAgreement | null>;
  saveGitAgreement(id: ProjectId, agreement: GitAgreement): Promise<void>;
  remove(id: ProjectId): Promise<void>;
}

/** `user`: the settings that apply in all projects. */
export type AgreedScope = ProjectId | 'user';

/** Which settings of files a person agreed to. */
export interface AgreedTable {
  /** Null before the first check. */
  find(scope: AgreedScope): Promise<AgreedSettings | null>;
  save(scope: AgreedScope, agreed: AgreedSettings): Promise<void>;
  remove(scope: AgreedScope): Promise<void>;
}

/** What Claude Code offers, as reported by the newest launch of each stage. */
export interface CapabilitiesTable {
  find(stageId: StageId): Promise<Capabilities | null>;
  /** The newest of the project's stages. */
  newestOf(projectId: ProjectId): Promise<Capabilities | null>;
  /** The newest of all. */
  newest(): Promise<Capabilities | null>;
  save(stageId: StageId, at: string, capabilities: Capabilities): Promise<void>;
}
