import type { Tables } from '../store.ts';
import type { RowCaches } from './cached-rows.ts';
import {
  announcementsTable,
  clockTable,
  deliveriesTable,
  eventsTable,
  loginsTable,
  pushTable,
  webhooksTable,
} from './event-tables.ts';
import { machineCommandsTable, machinesTable, orphanedWorktreesTable, projectPlacesTable } from './machine-tables.ts';
import {
  agreedTable,
  capabilitiesTable,
  mergeIntentsTable,
  portRangesTable,
  projectsTable,
  rulesTable,
  worktreeCommandsTable,
} from './project-tables.ts';
import { peopleTable, requestsTable } from './request-tables.ts';
import type { GivenRows } from './rows.ts';
import type { Database } from './schema.ts';
import { launchesTable, outboxTable, phaseRunsTable, sessionsTable, transcriptTable } from './session-tables.ts';
import {
  attachmentsTable,
  checksTable,
  commentsTable,
  draftFilesTable,
  draftsTable,
  sideRunsTable,
  stagesTable,
  turnMarksTable,
  viewedTable,
} from './stage-tables.ts';
import { budgetsTable, limitsTable, numbersTable, pausesTable, spendingTable } from './usage-tables.ts';

/**
 * The tables on a connection or a transaction. Each is created at its first use: most transactions use a few of them,
 * and getters of a class cost nothing to set up.
 */
export class StoreTables implements Tables {
  private readonly made: { -readonly [Name in keyof Tables]?: Tables[Name] } = {};
  private readonly db: Database;
  private readonly known: RowCaches;
  private readonly given: GivenRows | undefined;

  /** @param given collects the rows that are given to launches */
  constructor(db: Database, caches: RowCaches, given?: GivenRows) {
    this.db = db;
    this.known = caches;
    this.given = given;
  }

  get agreed() {
    this.made.agreed ??= agreedTable(this.db);
    return this.made.agreed;
  }

  get projects() {
    this.made.projects ??= projectsTable(this.db);
    return this.made.projects;
  }

  get stages() {
    this.made.stages ??= stagesTable(this.db, this.known);
    return this.made.stages;
  }

  get mergeIntents() {
    this.made.mergeIntents ??= mergeIntentsTable(this.db);
    return this.made.mergeIntents;
  }

  get checks() {
    this.made.checks ??= checksTable(this.db);
    return this.made.checks;
  }

  get phaseRuns() {
    this.made.phaseRuns ??= phaseRunsTable(this.db);
    return this.made.phaseRuns;
  }

  get sideRuns() {
    this.made.sideRuns ??= sideRunsTable(this.db);
    return this.made.sideRuns;
  }

  get sessions() {
    this.made.sessions ??= sessionsTable(this.db, this.known.sessions);
    return this.made.sessions;
  }

  get launches() {
    this.made.launches ??= launchesTable(this.db);
    return this.made.launches;
  }

  get outbox() {
    this.made.outbox ??= outboxTable(this.db, this.known.queued, this.given);
    return this.made.outbox;
  }

  get requests() {
    this.made.requests ??= requestsTable(this.db, this.known.openRequests);
    return this.made.requests;
  }

  get transcript() {
    this.made.transcript ??= transcriptTable(this.db);
    return this.made.transcript;
  }

  get events() {
    this.made.events ??= eventsTable(this.db);
    return this.made.events;
  }

  get rules() {
    this.made.rules ??= rulesTable(this.db);
    return this.made.rules;
  }

  get numbers() {
    this.made.numbers ??= numbersTable(this.db);
    return this.made.numbers;
  }

  get drafts() {
    this.made.drafts ??= draftsTable(this.db);
    return this.made.drafts;
  }

  get draftFiles() {
    this.made.draftFiles ??= draftFilesTable(this.db);
    return this.made.draftFiles;
  }

  get attachments() {
    this.made.attachments ??= attachmentsTable(this.db);
    return this.made.attachments;
  }

  get capabilities() {
    this.made.capabilities ??= capabilitiesTable(this.db);
    return this.made.capabilities;
  }

  get holds() {
    this.made.holds ??= pausesTable(this.db, this.known.holds);
    return this.made.holds;
  }

  get limits() {
    this.made.limits ??= limitsTable(this.db);
    return this.made.limits;
  }

  get logins() {
    this.made.logins ??= loginsTable(this.db);
    return this.made.logins;
  }

  get people() {
    this.made.people ??= peopleTable(this.db);
    return this.made.people;
  }

  get worktreeCommands() {
    this.made.worktreeCommands ??= worktreeCommandsTable(this.db);
    return this.made.worktreeCommands;
  }

  get portRanges() {
    this.made.portRanges ??= portRangesTable(this.db);
    return this.made.portRanges;
  }

  get comments() {
    this.made.comments ??= commentsTable(this.db);
    return this.made.comments;
  }

  get viewed() {
    this.made.viewed ??= viewedTable(this.db);
    return this.made.viewed;
  }

  get budgets() {
    this.made.budgets ??= budgetsTable(this.db, this.known.budgets);
    return this.made.budgets;
  }

  get spending() {
    this.made.spending ??= spendingTable(this.db);
    return this.made.spending;
  }

  get turnMarks() {
    this.made.turnMarks ??= turnMarksTable(this.db);
    return this.made.turnMarks;
  }

  get announcements() {
    this.made.announcements ??= announcementsTable(this.db);
    return this.made.announcements;
  }

  get deliveries() {
    this.made.deliveries ??= deliveriesTable(this.db);
    return this.made.deliveries;
  }

  get push() {
    this.made.push ??= pushTable(this.db);
    return this.made.push;
  }

  get webhooks() {
    this.made.webhooks ??= webhooksTable(this.db);
    return this.made.webhooks;
  }

  get machines() {
    this.made.machines ??= machinesTable(this.db);
    return this.made.machines;
  }

  get projectLocations() {
    this.made.projectLocations ??= projectPlacesTable(this.db);
    return this.made.projectLocations;
  }

  get machineCommands() {
    this.made.machineCommands ??= machineCommandsTable(this.db);
    return this.made.machineCommands;
  }

  get orphanedWorktrees() {
    this.made.orphanedWorktrees ??= orphanedWorktreesTable(this.db);
    return this.made.orphanedWorktrees;
  }

  get clock() {
    this.made.clock ??= clockTable(this.db);
    return this.made.clock;
  }
}
