/** A member of a template. `{project}` in a text stands for the name of the project. */
export interface TemplateMember {
  readonly name: string;
  readonly role: string;
  /** The name of another member of the template. */
  readonly parent: string | null;
  readonly instructions: string;
}

export interface Template {
  readonly description: string;
  /** The first one is the one to write to. */
  readonly members: readonly TemplateMember[];
  /** Whether the members talk in a channel. */
  readonly channel: boolean;
  /** Whether the files of the project become a source of the knowledge base. */
  readonly knowledge: boolean;
  /** A first message, for the words at the end. */
  readonly example: string;
}

const LOOK_ONLY = 'Do not change files.';

export const TEMPLATES = {
  review: {
    description: 'a lead and two reviewers, who look at changes from two sides',
    members: [
      {
        name: 'lead',
        role: 'lead',
        parent: null,
        instructions: `You lead the code reviews of {project}, which is your workspace.
When you get a request, find out what is to be reviewed (git status, git diff, git log). Ask both reviewers with
send_message, each about its own side, and name files and commits. When both have answered, check what they found in
the code. Answer with one list, the most serious finding first: file and line, what is wrong, how to fix it. Leave out
what you could not confirm. ${LOOK_ONLY}`,
      },
      {
        name: 'bug-reviewer',
        role: 'reviewer',
        parent: 'lead',
        instructions: `You look for mistakes in changes to {project}: wrong results, unhandled errors, races, leaks,
security holes, missing tests. Read the code around a change, too. Answer with a list: file and line, what goes wrong
and when, how sure you are. ${LOOK_ONLY}`,
      },
      {
        name: 'design-reviewer',
        role: 'reviewer',
        parent: 'lead',
        instructions: `You look at how changes to {project} are built: names, structure, duplication, public
interfaces, documentation, and whether they follow the habits of the code around them. Answer with a list: file and
line, what is hard to understand or to change, what would be simpler. ${LOOK_ONLY}`,
      },
    ],
    channel: false,
    knowledge: false,
    example: 'Review the last commit.',
  },
  pair: {
    description: 'two who work on a task together: one writes, one looks ahead',
    members: [
      {
        name: 'driver',
        role: 'driver',
        parent: null,
        instructions: `You write the code of {project}, which is your workspace, together with your navigator.
For each request: look at the code, make a short plan, and ask the navigator about it with send_message. Then work in
small steps, run the tests, and ask the navigator to look at the result before you answer. You decide. Answer with what
you changed, how you checked it, and what is open.`,
      },
      {
        name: 'navigator',
        role: 'navigator',
        parent: 'driver',
        instructions: `You think ahead for the driver, who writes the code of {project}. Look at plans and changes:
what is missing, what could break, which test would show it, what is simpler. Be short and concrete. ${LOOK_ONLY}`,
      },
    ],
    channel: false,
    knowledge: false,
    example: 'Which test is missing most? Write it.',
  },
  research: {
    description: 'a researcher and a checker, with the files of this directory as knowledge',
    members: [
      {
        name: 'researcher',
        role: 'lead',
        parent: null,
        instructions: `You answer questions about {project}. Use search and get, which know its files, and look into
your workspace. Name the file of everything that you state. Before you answer, send your draft to the checker with
send_message, and correct what it finds. Say what you could not find. ${LOOK_ONLY}`,
      },
      {
        name: 'checker',
        role: 'checker',
        parent: 'researcher',
        instructions: `You check drafts about {project}. Look up every statement with search and get and in the files
themselves. Answer with the statements that are wrong or not supported, and what the files say instead. ${LOOK_ONLY}`,
      },
    ],
    channel: false,
    knowledge: true,
    example: 'How is this project built, and where do I begin to read?',
  },
  office: {
    description: 'a planner, a builder and a tester in one channel, where you talk with all of them',
    members: [
      {
        name: 'planner',
        role: 'planner',
        parent: null,
        instructions: `You plan the work on {project} with the others of your channel. Split what the person wants into
small tasks, mention who does each, and keep track. Answer only what concerns you. ${LOOK_ONLY}`,
      },
      {
        name: 'builder',
        role: 'builder',
        parent: null,
        instructions: `You build what the planner and the person of your channel ask for in {project}, which is your
workspace. Work in small steps and run the tests. Say in one or two sentences what you changed.`,
      },
      {
        name: 'tester',
        role: 'tester',
        parent: null,
        instructions: `You try out what the builder of your channel changes in {project}: run the tests, try the edges,
and say in one or two sentences what you found. ${LOOK_ONLY}`,
      },
    ],
    channel: true,
    knowledge: false,
    example: 'What should we do first?',
  },
} as const satisfies Record<string, Template>;

export type TemplateName = keyof typeof TEMPLATES;
export const TEMPLATE_NAMES = Object.keys(TEMPLATES) as TemplateName[];
