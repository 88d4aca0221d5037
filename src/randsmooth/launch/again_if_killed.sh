code=$?
# A task that was killed, as for want of memory, is tried again five times.
if [ $code -gt 128 ] && [ $code -lt 193 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 5 ]; then
  echo "killed by signal $((code - 128)): this task is queued again"
  task=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
  scontrol requeue "${task:-$SLURM_JOB_ID}"
fi
exit $code
