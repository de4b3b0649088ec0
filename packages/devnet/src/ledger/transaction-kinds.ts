/**
 * Every kind of transaction that consensus takes, by its field in a body: its name at the mirror node, the gRPC method that takes it,
 * and what it costs, tinycents (1e-8 US cent). Gas is charged besides; the sender inside an Ethereum transaction pays for its own.
 */
export const TRANSACTION_KINDS = {
  consensusCreateTopic: ['CONSENSUSCREATETOPIC', 'ConsensusService/createTopic', 1e8],
  consensusSubmitMessage: ['CONSENSUSSUBMITMESSAGE', 'ConsensusService/submitMessage', 8e6],
  contractCall: ['CONTRACTCALL', 'SmartContractService/contractCallMethod', 1e6],
  contractCreateInstance: ['CONTRACTCREATEINSTANCE', 'SmartContractService/createContract', 1e6],
  cryptoApproveAllowance: ['CRYPTOAPPROVEALLOWANCE', 'CryptoService/approveAllowances', 5e8],
  cryptoCreateAccount: ['CRYPTOCREATEACCOUNT', 'CryptoService/createAccount', 5e8],
  cryptoDelete: ['CRYPTODELETE', 'CryptoService/cryptoDelete', 5e7],
  cryptoTransfer: ['CRYPTOTRANSFER', 'CryptoService/cryptoTransfer', 1e6],
  cryptoUpdateAccount: ['CRYPTOUPDATEACCOUNT', 'CryptoService/updateAccount', 2.2e6],
  ethereumTransaction: ['ETHEREUMTRANSACTION', 'SmartContractService/callEthereum', 1e6],
  fileAppend: ['FILEAPPEND', 'FileService/appendContent', 5e8],
  fileCreate: ['FILECREATE', 'FileService/createFile', 5e8],
  fileDelete: ['FILEDELETE', 'FileService/deleteFile', 7e7],
  scheduleCreate: ['SCHEDULECREATE', 'ScheduleService/createSchedule', 1e8],
  scheduleSign: ['SCHEDULESIGN', 'ScheduleService/signSchedule', 1e7],
  tokenAssociate: ['TOKENASSOCIATE', 'TokenService/associateTokens', 5e8],
  tokenCreation: ['TOKENCREATION', 'TokenService/createToken', 1e10],
  tokenDeletion: ['TOKENDELETION', 'TokenService/deleteToken', 1e7],
  tokenFreeze: ['TOKENFREEZE', 'TokenService/freezeTokenAccount', 1e7],
  tokenGrantKyc: ['TOKENGRANTKYC', 'TokenService/grantKycToTokenAccount', 1e7],
  tokenPause: ['TOKENPAUSE', 'TokenService/pauseToken', 1e7],
  tokenRevokeKyc: ['TOKENREVOKEKYC', 'TokenService/revokeKycFromTokenAccount', 1e7],
  tokenUnfreeze: ['TOKENUNFREEZE', 'TokenService/unfreezeTokenAccount', 1e7],
  tokenUnpause: ['TOKENUNPAUSE', 'TokenService/unpauseToken', 1e7],
} as const satisfies { readonly [field: string]: readonly [string, string, number] }

export type Kind = keyof typeof TRANSACTION_KINDS

/** A transfer that moves tokens costs ten times as much; twice that if one has custom fees, as its creation does. */
export const TOKEN_TRANSFER_TINYCENTS = 1e7
export const FEE_TRANSFER_TINYCENTS = 2e7
export const FEE_TOKEN_TINYCENTS = 2e10

/** Methods of the network's nodes that take transactions, which this node refuses as NOT_SUPPORTED. */
export const UNSUPPORTED_METHODS: readonly string[] = [
  'ConsensusService/deleteTopic',
  'ConsensusService/updateTopic',
  'CryptoService/deleteAllowances',
  'FileService/updateFile',
  'ScheduleService/deleteSchedule',
  'SmartContractService/deleteContract',
  'SmartContractService/updateContract',
  'TokenService/airdropTokens',
  'TokenService/burnToken',
  'TokenService/cancelAirdrop',
  'TokenService/claimAirdrop',
  'TokenService/dissociateTokens',
  'TokenService/mintToken',
  'TokenService/rejectToken',
  'TokenService/updateToken',
  'TokenService/updateTokenFeeSchedule',
  'TokenService/wipeTokenAccount',
  'UtilService/atomicBatch',
  'UtilService/prng',
]
