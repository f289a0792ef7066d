//! Conversations and small networks: what the whole endpoint does.
