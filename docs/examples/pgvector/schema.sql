-- Faces of known people, several of each, for pgvector 0.8 or later.
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE IF NOT EXISTS faces (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person text NOT NULL,
  -- What the embedding was made by. Embeddings that differ in any of the three cannot be compared.
  pack text NOT NULL,
  version text NOT NULL,
  accuracy_mode text NOT NULL,
  -- As many numbers as the answer of embed says (`dimensions`).
  embedding vector(512) NOT NULL
);

CREATE INDEX IF NOT EXISTS faces_made_by ON faces (pack, version, accuracy_mode, person);

-- Approximate nearest neighbours by cosine distance. How many candidates a search keeps is hnsw.ef_search (40 unless set):
-- more find the nearest more often and take longer. It has to be at least as large as LIMIT.
CREATE INDEX IF NOT EXISTS faces_nearest ON faces USING hnsw (embedding vector_cosine_ops);
