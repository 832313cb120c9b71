declare module 'wink-bm25-text-search' {
  interface Engine {
    defineConfig(config: { readonly fldWeights: Readonly<Record<string, number>> }): void;
    definePrepTasks(tasks: readonly unknown[]): void;
    addDoc(document: object, id: string): void;
    consolidate(): void;
    search(query: string, limit: number): [id: string, score: number][];
  }
  export default function bm25(): Engine;
}

declare module 'wink-nlp-utils' {
  type Tasks = Readonly<Record<string, unknown>>;
  const nlp: { readonly string: Tasks; readonly tokens: Tasks };
  export default nlp;
}
