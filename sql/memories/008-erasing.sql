-- Nothing of an owner who is being erased is added.

SELECT hold_owners_of('memory_said', users => ARRAY['x.user_id', 'x.project_id'], agents => ARRAY['x.agent_id']);
SELECT hold_owners_of('memory_forget_handles', users => ARRAY['x.user_id', 'x.project_id'], agents => ARRAY['x.agent_id']);
SELECT hold_owners_of('memory_tokens');
-- No trace of an answer is kept whose owner was erased since the question.
SELECT hold_owners_of(
  'memory_traces', users => ARRAY['x.user_id', 'x.project_id'], agents => ARRAY['x.agent_id'], began => 'x.created_at');
