"""`puffer-sdk review`: check an environment that somebody else wrote, in a sandbox.

sandbox         which sandbox this machine has, and the command line that enters it
reviewed_copy   a folder or a patch -> copies of the environments to review
inside          runs in the sandbox: check, build, train, report
resource_meter  memory, disk, time and processes of what runs in the sandbox
review          a folder or a patch -> Review: a verdict for each environment
text            a Review -> lines and report files
"""
