-- Faces of known people, several per person, for pgvector 0.8 or later.
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE IF NOT EXISTS faces (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person text NOT NULL,
  -- Embeddings that differ in pack, version or mode cannot be compared.
  pack text NOT NULL,
  version text NOT NULL,
  accuracy_mode text NOT NULL,
  -- The response of embed has the number of dimensions.
  embedding vector(512) NOT NULL
);

CREATE INDEX IF NOT EXISTS faces_made_by ON faces (pack, version, accuracy_mode, person);

-- Approximate nearest neighbours by cosine distance. hnsw.ef_search (default 40) is the number of candidates of a search:
-- more candidates improve recall and take longer. It must be at least as large as LIMIT.
CREATE INDEX IF NOT EXISTS faces_nearest ON faces USING hnsw (embedding vector_cosine_ops);
