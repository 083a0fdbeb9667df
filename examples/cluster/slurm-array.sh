#!/usr/bin/env bash
# Run a study in twenty jobs that share a PostgreSQL store; jobs may be interrupted.
# sbatch slurm-array.sh study.yaml
#SBATCH --job-name=cheaptalk
#SBATCH --array=1-20
#SBATCH --cpus-per-task=8
#SBATCH --mem-per-cpu=1G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail

study=${1:?name the study: sbatch slurm-array.sh study.yaml}
: "${CHEAPTALK_STORE:?set it to postgresql+psycopg://user@host/database; the password is in ~/.pgpass}"

srun cheaptalk run "$study" --workers "${SLURM_CPUS_PER_TASK:-1}" --yes
