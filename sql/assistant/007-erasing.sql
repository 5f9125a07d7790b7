-- Nothing of an owner who is being erased is added.

SELECT hold_owners_of('assistant_memories', users => ARRAY['x.user_id'], agents => ARRAY['x.agent_id']);
SELECT hold_owners_of('assistant_recalls', users => ARRAY['x.user_id'], agents => ARRAY['x.agent_id']);
SELECT hold_owners_of(t.name, users => ARRAY['x.user_id'])
FROM unnest(ARRAY[
  'assistant_outbox', 'assistant_relations', 'assistant_vectors', 'assistant_changes', 'assistant_history',
  'assistant_threads', 'assistant_events', 'assistant_turns', 'assistant_user_context', 'assistant_proposals',
  'assistant_signals', 'assistant_fingerprints', 'assistant_runs', 'assistant_budgets', 'assistant_recent',
  'saver_writes', 'saver_blobs', 'saver_checkpoints', 'supervisor_checkpoints', 'assistant_file_versions',
  'assistant_files']) AS t (name);
